/* Part of cuda.c: how long things take, in nanoseconds of the model. */
#ifndef CUDA_MODEL_H
#define CUDA_MODEL_H
#include "cuda_memory.h"

static double transfer_ns(int from, int to, double bytes, int direct, double start)
{
    if (from == to)
        return bytes / 1000;
    if (from == HOST_MEMORY || to == HOST_MEMORY)
        return bytes / number(from == HOST_MEMORY ? "h2d" : "d2h", number("host_gbs", 10));
    double rate = direct ? between("link", from, to, number("gbs", 50)) : number("host_gbs", 10);
    if (direct && between("host", from, to, 0) < 0)
        rate /= 10;
    double length = bytes / rate;
    if (word("hairpin") && busy[to][from].to > start && busy[to][from].from < start + length)
        length *= 2;
    if (start > busy[from][to].to) {
        busy[from][to].from = start;
        busy[from][to].slow = 0;
    }
    for (int a = 0; a < count && word("collapse"); a++)
        for (int b = 0; b < count; b++)
            if (a != from && b != to && !(a == to && b == from) && busy[a][b].to > start
                && busy[a][b].from < start + length)
                busy[from][to].slow = 1;
    if (busy[from][to].slow)
        length *= number("collapse", 1);
    busy[from][to].to = start + length;
    return length;
}

static double length_of(operation *op, int which, double start)
{
    const u64 *v = op->value;
    if (op->kind == DELAY)
        return op->length;
    const void *to = op->kind == COPY ? op->to : (void *)v[0], *from = op->kind == COPY ? op->from : (void *)v[1];
    if (op->kind == COPY || (op->kind == KERNEL && op->name == COPY_BY_SM)) {
        const block *target = block_of(to), *source = block_of(from);
        double bytes = op->kind == COPY ? (double)op->size : (double)v[2] * 16 * (u32)v[3];
        return target && source ? transfer_ns(source->gpu, target->gpu, bytes, op->direct, start) : bytes / 10;
    }
    if (op->kind != KERNEL)
        return 0;
    const block *there = block_of((void *)v[op->name == PING_PONG]);
    double latency = number("latency", 700);
    if (there && (op->name == CHASE || op->name == PING_PONG))
        latency = between("far", which, there->gpu, latency);
    if (op->name == CHASE)
        return latency * (u32)v[1];
    if (op->name == PING_PONG)
        return 2 * latency * ((u32)v[3] + (u32)v[4]);
    if (op->name == REDUCE) {
        static int times;
        double length = 2 * latency + (double)v[5] * 8 * ((double)v[4] - 1) / number("gbs", 50);
        return word("tail") && ++times % 20 == 0 ? length * number("tail", 1) : length;
    }
    return 1000;
}
#endif
