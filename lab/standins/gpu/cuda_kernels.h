/* Part of cuda.c: the kernels of tunecheck.cu, in C. */
#ifndef CUDA_KERNELS_H
#define CUDA_KERNELS_H
#include "cuda_memory.h"
#include "half.h"

static u32 pattern(u64 i, u32 seed)
{
    u32 x = (u32)i ^ (u32)(i >> 32) * 0x9e3779b9U ^ seed;
    x ^= x >> 16; x *= 0x7feb352dU;
    x ^= x >> 15; x *= 0x846ca68bU;
    return x ^ x >> 16;
}

static u64 patience_ns(u64 clocks) { return (u64)((double)clocks * 1000 / number("mhz", 200)); }

static void fill(u32 *p, u64 n, u32 seed)
{
    for (u64 i = 0; i < n; i++)
        p[i] = pattern(i, seed);
}

static void check(const u32 *p, u64 n, u32 seed, u32 *bad)
{
    for (u64 part = 0; part < n; part += 4096) {
        u64 end = part + 4096 < n ? part + 4096 : n;
        u32 differ = 0;
        for (u64 i = part; i < end; i++)
            differ |= p[i] ^ pattern(i, seed);
        for (u64 i = part; differ && i < end; i++)
            if (p[i] != pattern(i, seed) && bad[0]++ == 0) {
                bad[1] = (u32)i;
                bad[2] = (u32)(i >> 32);
                bad[3] = p[i];
            }
    }
}

static void ping_pong(const operation *op, int which)
{
    _Atomic u32 *mine = (void *)op->value[0], *peer = (void *)op->value[1];
    u32 base = (u32)op->value[2], rounds = (u32)op->value[3] + (u32)op->value[4], first = (u32)op->value[5];
    u64 *out = (void *)op->value[7], limit = patience_ns(op->value[6]);
    int lost = between("lost", which, block_of(peer)->gpu, 0) != 0;
    out[2] = 0;
    /* Each 50th round only: it is no GPU, and the protocol is the same. */
    for (u32 i = 1; i <= rounds; i = i == rounds || i + 50 < rounds ? i + 50 : rounds) {
        u64 since = real_ns(), turns = 0;
        if (first && !lost)
            *peer = base + i;
        while (*mine != base + i) {
            if (real_ns() - since > limit) {
                out[1] = i;
                out[2] = 1;
                return;
            }
            patience(&turns);
        }
        if (!first && !lost)
            *peer = base + i;
    }
    out[0] = (u64)op->length * (u32)op->value[4] / rounds;
    out[1] = (u32)op->value[4];
}

static int reductions;          /* by tc_reduce, of this process */

typedef struct slot { u32 low; _Atomic u32 flag; u32 high; _Atomic u32 again; } slot;

static void reduce(const operation *op, int which)
{
    const u32 *in = (void *)op->value[0];
    u32 *out = (void *)op->value[1], rank = (u32)op->value[3], ranks = (u32)op->value[4], n = (u32)op->value[5];
    u64 cap = (u32)op->value[6], limit = patience_ns(op->value[8]);
    _Atomic u32 *control = (void *)op->value[7];
    u64 *stamps = (void *)op->value[9];
    u32 flag = control[0] + 1;
    if (control[2])
        return;
    reductions++;
    slot *mine = (slot *)op->scratch[rank] + (flag & 1) * ranks * cap;
    for (u32 step = 1; step < ranks; step++) {
        u32 to = (rank + step) % ranks;
        slot *there = (slot *)op->scratch[to] + (flag & 1) * ranks * cap + rank * cap;
        int target = block_of(there)->gpu;
        double offset = between("wrong", which, target, -1);
        if (reductions > between("lost", which, target, 1e9))
            continue;
        for (u32 i = 0; i < n; i++) {
            there[i].low = in[2 * i] ^ (offset >= 0 && (u32)offset / 8 == i ? 0x4000 : 0);
            there[i].high = in[2 * i + 1];
            atomic_store_explicit(&there[i].flag, flag, memory_order_release);
            atomic_store_explicit(&there[i].again, flag, memory_order_release);
        }
    }
    u32 part[1024];
    for (u32 at = 0; at < n; at += 512) {
        u32 size = n - at < 512 ? n - at : 512;
        for (u32 from = 0; from < ranks; from++) {
            slot *theirs = mine + from * cap + at;
            u64 since = 0, turns = 0;
            for (u32 i = 0; i < size && from != rank; i++) {
                while (theirs[i].flag != flag || theirs[i].again != flag) {
                    since = since ? since : real_ns();
                    if (real_ns() - since > limit) {
                        control[3] = from;
                        control[2] = flag;
                        break;
                    }
                    patience(&turns);
                }
                part[2 * i] = theirs[i].low;
                part[2 * i + 1] = theirs[i].high;
                if (control[2])
                    break;
            }
            const void *value = from == rank ? in + 2 * at : part;
            if (from == 0)
                memcpy(out + 2 * at, value, size * 8);
            else
                add_halves((void *)(out + 2 * at), value, size * 4);
        }
        if (control[2])
            break;
    }
    stamps[flag & 4095] = (u64)op->end;
    control[0] = flag;
}

/* A library's host function that computes, and the one that only counts (fakeRepeatable). */
static void (*repeatable)(void *), (*repeated)(void *);

/* What is left to do of an all-reduce that was done just before, on what nobody has changed since (cuda.c: brief). */
static int repeat(const operation *op, int which)
{
    if (op->kind == HOST) {
        repeated(op->user);
        return OK;
    }
    _Atomic u32 *control = (void *)op->value[7];
    int code = pass(names[op->name], which, -1);
    if (code || control[2])
        return code;
    reductions++;
    control[0]++;
    ((u64 *)op->value[9])[control[0] & 4095] = (u64)op->end;
    return OK;
}

/* The memory a kernel touches is within reach, or the context is broken. */
static int may(const operation *op, int which)
{
    const u64 *v = op->value;
    switch (op->name) {
    case FILL: return reachable(which, (void *)v[0], v[1] * 4);
    case CHECK: return reachable(which, (void *)v[0], v[1] * 4) && reachable(which, (void *)v[3], 16);
    case COPY_BY_SM: return reachable(which, (void *)v[0], v[2] * 16) && reachable(which, (void *)v[1], v[2] * 16);
    case CHASE: return reachable(which, (void *)v[0], 8) && reachable(which, (void *)v[3], 16);
    case PING_PONG: return reachable(which, (void *)v[0], 4) && reachable(which, (void *)v[1], 4)
                           && reachable(which, (void *)v[7], 24);
    case REDUCE:
        for (u32 rank = 0; rank < (u32)v[4]; rank++)
            if (!reachable(which, (void *)op->scratch[rank], 2 * v[4] * v[6] * 16))
                return 0;
        return reachable(which, (void *)v[0], v[5] * 8) && reachable(which, (void *)v[1], v[5] * 8)
               && reachable(which, (void *)v[7], 16) && reachable(which, (void *)v[9], 4096 * 8);
    case STAMP: return reachable(which, (void *)v[0], (v[1] + 1) * 8);
    default: return 0;
    }
}

static int peer(const operation *op, const void *to, const void *from)
{
    const block *target = block_of(to), *source = block_of(from);
    return op->direct && target && source && target->gpu != source->gpu ? pass("peer", source->gpu, target->gpu) : OK;
}

static int run_kernel(const operation *op, int which)
{
    const u64 *v = op->value;
    int code = pass(names[op->name], which, -1);
    if (code)
        return code;
    if (!may(op, which))
        return ILLEGAL_ADDRESS;
    if (op->name != COPY_BY_SM)
        for (int i = 0; i < 10; i++)    /* whatever it was given, it may have written */
            wrote((void *)v[i]);
    if (op->name == FILL) {
        fill((u32 *)v[0], v[1], (u32)v[2]);
        double cell = block_of((void *)v[0])->gpu == which ? between("cell", which, which, -1) : -1;
        if (cell >= 0 && cell < (double)v[1] * 4)
            ((u32 *)v[0])[(u64)cell / 4] ^= 1;
    }
    else if (op->name == CHECK)
        check((u32 *)v[0], v[1], (u32)v[2], (u32 *)v[3]);
    else if (op->name == COPY_BY_SM) {
        if ((code = peer(op, (void *)v[0], (void *)v[1])))
            return code;
        move(op, (char *)v[0], (char *)v[1], v[2] * 16);
    } else if (op->name == CHASE) {
        const u64 *p = (u64 *)v[0];
        for (u32 i = 0; i < (u32)v[1]; i++) {
            if (!reachable(which, p, 8))
                return ILLEGAL_ADDRESS;
            p = (const u64 *)*p;
        }
        ((u64 *)v[3])[0] = (u64)op->length;
        ((u64 *)v[3])[1] = (u64)p;
    } else if (op->name == PING_PONG)
        ping_pong(op, which);
    else if (op->name == STAMP)
        ((u64 *)v[0])[v[1]] = (u64)op->end;
    else
        reduce(op, which);
    return OK;
}
#endif
