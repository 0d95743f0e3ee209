/* A libcuda.so.1 without a GPU, honest at its lowest seam: memory is real and shared between processes, copies are copied,
 * kernels of tunecheck.cu really compute, streams are threads that run behind their caller. For tests only.
 *
 * Time is a model and exact: each process has a clock that only its queued work moves, computed when it is queued.
 *
 * FAKE_CUDA, words as in words.h; sites of faults are functions of the API, "any" of them, kernels by name on GPU A, and
 * "peer": copies by engine or SM with peer access from A to B.
 *   gpus=N mib=N sms=N   so many GPUs (2) with so much memory (256) and SMs (4); 0000:03:00.0 and up, one bus each
 *   gbs=X host_gbs=X     GB/s with peer access (50), and through the host (10)
 *   link=A,B,X           GB/s from A to B
 *   host=A,B             copies from A to B go through the host in silence: right, at a tenth of the speed
 *   hairpin=1            both directions of a pair share what one has
 *   collapse=X           flows of different sources to different targets at once: X times slower
 *   latency=X            ns of a load from a peer (700); far=A,B,X the same from A to B
 *   tail=X               each 20th all-reduce of tc_reduce takes X times as long
 *   wrong=A,B,OFFSET     with peer access, the word at OFFSET arrives wrong from A at B
 *   control=A,B,OFFSET   the same without
 *   lost=A,B             what kernels of A store at B never arrives
 *   nopeer=A,B           the driver says no
 *   alloc_mib=N          an allocation above N MiB fails with "out of memory", whatever cuMemGetInfo says
 *   mode=N               compute mode
 *   mhz=N                the clock that kernels count their patience with (200)
 */
#include "words.h"
#include "half.h"

enum { OK, INVALID, NO_MEMORY, NO_CONTEXT = 201, NO_PEER = 217, BAD_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
       ILLEGAL_ADDRESS = 700, PEER_ALREADY = 704, PEER_NOT = 705, UNSUPPORTED_IN_CAPTURE = 900 };
#define GPUS 8

typedef struct event { int gpu; double time; u64 asked; _Atomic u64 reached; } event;
enum kind { KERNEL, COPY, SET, RECORD, WAIT, HOST, DELAY };
enum name { FILL, CHECK, COPY_BY_SM, CHASE, PING_PONG, REDUCE, NAMES };
static const char *const names[NAMES] = {"tc_fill", "tc_check", "tc_copy", "tc_chase", "tc_pingpong", "tc_reduce"};
/* Bytes of each parameter. */
static const unsigned char parameters[NAMES][11] = {{8, 8, 4}, {8, 8, 4, 8}, {8, 8, 8, 4}, {8, 4, 4, 8},
                                                    {8, 8, 4, 4, 4, 4, 8, 8}, {8, 8, 64, 4, 4, 4, 4, 8, 8, 8}};
typedef struct operation {
    struct operation *next;
    enum kind kind;
    char *to, *from;
    size_t size;
    int byte, staged, direct;   /* staged: `from` is a copy to free; direct: with peer access, as it was when queued */
    enum name name;
    u64 value[10], scratch[8];
    event *event;
    u64 generation;
    void (*function)(void *);
    void *user;
    double length, end;         /* of the model, ns */
} operation;
typedef struct graph { operation *first, *last; } graph;
typedef struct stream {
    int gpu;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    operation *first, *last;
    int working, capturing, late;
    graph *graph;
    double clock;
} stream;
typedef struct gpu { int index; atomic_int broken; size_t used; stream *legacy; } gpu;
typedef struct block { struct block *next; char *at; size_t size; int gpu, descriptor, opened; } block;
typedef struct function { int gpu; enum name name; } function;
typedef struct handle { int pid, descriptor, gpu, magic; u64 size; } handle;

static gpu gpus[GPUS];
static int count;
static __thread gpu *current;
static block *blocks;
static int reach[GPUS][GPUS];
static struct { double from, to; int slow; } busy[GPUS][GPUS];
static double now;              /* the process's own model clock, ns */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
    read_words("FAKE_CUDA");
    count = (int)number("gpus", 2);
    if (count > GPUS)
        count = GPUS;
    for (int i = 0; i < GPUS; i++)
        gpus[i].index = i;
}

static int enter(const char *name, int which)
{
    int code = pass("any", which, -1);
    return code ? code : pass(name, which, -1);
}
#define ENTER(which) do { int code_ = enter(__func__, which); if (code_) return code_; } while (0)
#define HERE() do { if (!current) return NO_CONTEXT; ENTER(current->index); \
                    if (current->broken) return current->broken; } while (0)

/* ---- memory ---- */
static block *block_of(const void *address)
{
    const char *at = address;
    pthread_mutex_lock(&lock);
    block *each = blocks;
    while (each && !(at >= each->at && at < each->at + each->size))
        each = each->next;
    pthread_mutex_unlock(&lock);
    return each;
}

/* Whether a kernel on GPU `which` may touch that memory. */
static int reachable(int which, const void *address, size_t size)
{
    const block *found = block_of(address);
    return found && (const char *)address + size <= found->at + found->size
           && (found->gpu == which || found->opened || reach[which][found->gpu]);
}

static void add_block(char *at, size_t size, int which, int descriptor, int opened)
{
    block *fresh = malloc(sizeof *fresh);
    *fresh = (block){blocks, at, size, which, descriptor, opened};
    pthread_mutex_lock(&lock);
    fresh->next = blocks;
    blocks = fresh;
    pthread_mutex_unlock(&lock);
}

/* Copy, with what the injected faults do to it. */
static void move(const operation *op, char *to, const char *from, size_t size)
{
    const block *target = block_of(to), *source = block_of(from);
    memcpy(to, from, size);
    if (target && source && target->gpu != source->gpu) {
        double offset = between(op->direct ? "wrong" : "control", source->gpu, target->gpu, -1);
        if (offset >= 0 && offset < (double)size)
            to[(size_t)offset] ^= 1;
    }
}

/* ---- kernels ---- */
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
    slot *mine = (slot *)op->scratch[rank] + (flag & 1) * ranks * cap;
    for (u32 step = 1; step < ranks; step++) {
        u32 to = (rank + step) % ranks;
        slot *there = (slot *)op->scratch[to] + (flag & 1) * ranks * cap + rank * cap;
        int target = block_of(there)->gpu;
        double offset = between("wrong", which, target, -1);
        if (between("lost", which, target, 0) != 0)
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
    if (op->name == FILL)
        fill((u32 *)v[0], v[1], (u32)v[2]);
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
    else
        reduce(op, which);
    return OK;
}

/* ---- streams ---- */
static int run_one(operation *op, int which)
{
    int code = OK;
    switch (op->kind) {
    case KERNEL: return run_kernel(op, which);
    case COPY:
        if ((code = peer(op, op->to, op->from)))
            return code;
        move(op, op->to, op->from, op->size);
        return OK;
    case SET: memset(op->to, op->byte, op->size); return OK;
    case HOST: op->function(op->user); return OK;
    default: return OK;
    }
}

static void *run_stream(void *argument)
{
    stream *own = argument;
    for (;;) {
        pthread_mutex_lock(&own->mutex);
        while (!own->first)
            pthread_cond_wait(&own->changed, &own->mutex);
        operation *op = own->first;
        own->first = op->next;
        own->working = 1;
        pthread_mutex_unlock(&own->mutex);
        if (own->late) {        /* the default stream: whoever does not wait for it sees that */
            struct timespec pause = {0, 2000000};
            nanosleep(&pause, NULL);
        }
        gpu *where = &gpus[own->gpu];
        u64 turns = 0;
        if (op->kind == WAIT)
            while (op->event->reached < op->generation)
                patience(&turns);
        else if (op->kind == RECORD)
            op->event->reached = op->generation;
        else if (!where->broken) {
            int code = run_one(op, own->gpu);
            if (code)
                where->broken = code;
        }
        if (op->staged)
            free(op->from);
        free(op);
        pthread_mutex_lock(&own->mutex);
        own->working = 0;
        pthread_cond_broadcast(&own->changed);
        pthread_mutex_unlock(&own->mutex);
    }
    return NULL;
}

static stream *new_stream(int which, int late)
{
    stream *fresh = calloc(1, sizeof *fresh);
    pthread_t thread;
    fresh->gpu = which;
    fresh->late = late;
    pthread_mutex_init(&fresh->mutex, NULL);
    pthread_cond_init(&fresh->changed, NULL);
    pthread_create(&thread, NULL, run_stream, fresh);
    pthread_detach(thread);
    return fresh;
}

/* ---- the model of time ---- */
static double transfer_ns(int from, int to, double bytes, int direct, double start)
{
    if (from == to)
        return bytes / 1000;
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

static int queue(stream *on, const operation *given)
{
    operation *op = malloc(sizeof *op);
    *op = *given;
    op->next = NULL;
    if (on->capturing) {
        if (op->kind == RECORD || op->kind == WAIT || op->staged) {
            free(op);
            return UNSUPPORTED_IN_CAPTURE;
        }
        if (on->graph->last)
            on->graph->last->next = op;
        else
            on->graph->first = op;
        on->graph->last = op;
        return OK;
    }
    double start = on->clock > now ? on->clock : now;
    if (op->kind == WAIT && op->event->time > start)
        start = op->event->time;
    op->length = length_of(op, on->gpu, start);
    op->end = on->clock = start + op->length;
    if (op->kind == RECORD)
        op->event->time = op->end;
    pthread_mutex_lock(&on->mutex);
    if (on->first)
        on->last->next = op;
    else
        on->first = op;
    on->last = op;
    pthread_cond_broadcast(&on->changed);
    pthread_mutex_unlock(&on->mutex);
    return OK;
}

static int drained(stream *which, int wait)
{
    pthread_mutex_lock(&which->mutex);
    while (wait && (which->first || which->working))
        pthread_cond_wait(&which->changed, &which->mutex);
    int done = !which->first && !which->working;
    pthread_mutex_unlock(&which->mutex);
    if (done && which->clock > now)
        now = which->clock;
    return done;
}

static stream *stream_of(stream *given)
{
    if (given)
        return given;
    if (!current->legacy)
        current->legacy = new_stream(current->index, 1);
    return current->legacy;
}

/* ---- the API ---- */
int cuGetErrorName(int code, const char **text)
{
    static const struct { int code; const char *name; } known[] = {
        {0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"},
        {3, "CUDA_ERROR_NOT_INITIALIZED"}, {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {100, "CUDA_ERROR_NO_DEVICE"},
        {101, "CUDA_ERROR_INVALID_DEVICE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"}, {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
        {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"}, {400, "CUDA_ERROR_INVALID_HANDLE"}, {500, "CUDA_ERROR_NOT_FOUND"},
        {600, "CUDA_ERROR_NOT_READY"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"}, {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
        {719, "CUDA_ERROR_LAUNCH_FAILED"}, {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
        {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
        {999, "CUDA_ERROR_UNKNOWN"}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == code) {
            *text = known[i].name;
            return OK;
        }
    *text = NULL;
    return INVALID;
}

int cuInit(unsigned flags) { (void)flags; ENTER(-1); return OK; }
int cuDriverGetVersion(int *version) { ENTER(-1); *version = 13000; return OK; }
int cuDeviceGetCount(int *number_of) { ENTER(-1); *number_of = count; return OK; }

int cuDeviceGetAttribute(int *value, int which, int device)
{
    ENTER(device);
    if (device < 0 || device >= count)
        return 101;
    switch (which) {
    case 16: *value = (int)number("sms", 4); break;
    case 20: *value = (int)number("mode", 0); break;
    case 33: *value = 3 + device; break;
    case 34: case 50: *value = 0; break;
    case 75: *value = 12; break;
    case 76: *value = 0; break;
    default: return INVALID;
    }
    return OK;
}

int cuDevicePrimaryCtxRetain(gpu **context, int device)
{
    ENTER(device);
    if (device < 0 || device >= count)
        return 101;
    *context = &gpus[device];
    return OK;
}

int cuCtxSetCurrent(gpu *context) { ENTER(context ? context->index : -1); current = context; return OK; }

int cuStreamCreate(stream **fresh, unsigned flags)
{
    (void)flags;
    HERE();
    *fresh = new_stream(current->index, 0);
    return OK;
}

int cuModuleLoadData(gpu **module, const char *image)
{
    HERE();
    for (int i = 0; i < NAMES; i++)
        if (!strstr(image, names[i]))
            return 218;
    *module = current;
    return OK;
}

int cuModuleGetFunction(function **found, gpu *module, const char *name)
{
    HERE();
    for (int i = 0; i < NAMES; i++)
        if (!strcmp(name, names[i])) {
            *found = malloc(sizeof **found);
            **found = (function){module->index, (enum name)i};
            return OK;
        }
    return NOT_FOUND;
}

int cuLaunchKernel(function *which, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned dynamic, stream *on, void **arguments, void **extra)
{
    (void)dynamic; (void)extra;
    HERE();
    on = stream_of(on);
    if (which->gpu != current->index || on->gpu != current->index)
        return BAD_HANDLE;
    if (!x || !y || !z || !bx || bx * by * bz > 1024)
        return INVALID;
    operation op = {.kind = KERNEL, .name = which->name};
    for (int i = 0; parameters[which->name][i]; i++)
        memcpy(parameters[which->name][i] == 64 ? (void *)op.scratch : &op.value[i], arguments[i],
               parameters[which->name][i]);
    if (op.name == CHASE && (u32)op.value[2] >= x)
        return INVALID;
    op.direct = 1;
    return queue(on, &op);
}

int cuMemAlloc_v2(u64 *address, size_t size)
{
    HERE();
    size_t total = (size_t)number("mib", 256) << 20;
    int descriptor;
    if (!size)
        return INVALID;
    if (current->used + size > total || size > (size_t)number("alloc_mib", 1 << 20) << 20)
        return NO_MEMORY;
    char *at = shared(size, &descriptor);
    if (!at)
        return NO_MEMORY;
    add_block(at, size, current->index, descriptor, 0);
    current->used += size;
    *address = (u64)at;
    return OK;
}

int cuMemFree_v2(u64 address)
{
    HERE();
    block **link = &blocks, *found = block_of((void *)address);
    if (!found || found->at != (char *)address)
        return INVALID;
    pthread_mutex_lock(&lock);
    while (*link != found)
        link = &(*link)->next;
    *link = found->next;
    pthread_mutex_unlock(&lock);
    gpus[found->gpu].used -= found->size;
    munmap(found->at, found->size);
    close(found->descriptor);
    free(found);
    return OK;
}

int cuMemGetInfo_v2(size_t *left, size_t *total)
{
    HERE();
    *total = (size_t)number("mib", 256) << 20;
    *left = *total - current->used;
    return OK;
}

int cuEventCreate(event **fresh, unsigned flags)
{
    (void)flags;
    HERE();
    *fresh = calloc(1, sizeof **fresh);
    (*fresh)->gpu = current->index;
    return OK;
}

int cuEventRecord(event *which, stream *on)
{
    HERE();
    on = stream_of(on);
    if (which->gpu != on->gpu)
        return BAD_HANDLE;
    operation op = {.kind = RECORD, .event = which, .generation = ++which->asked};
    return queue(on, &op);
}

int cuStreamWaitEvent(stream *on, event *which, unsigned flags)
{
    (void)flags;
    HERE();
    operation op = {.kind = WAIT, .event = which, .generation = which->asked};
    return which->asked ? queue(stream_of(on), &op) : OK;
}

int cuEventElapsedTime(float *milliseconds, event *start, event *end)
{
    HERE();
    if (start->gpu != end->gpu || !start->asked || !end->asked)
        return BAD_HANDLE;
    if (start->reached < start->asked || end->reached < end->asked)
        return NOT_READY;
    *milliseconds = (float)((end->time - start->time) / 1e6);
    return OK;
}
int cuEventElapsedTime_v2(float *milliseconds, event *start, event *end)
{
    return cuEventElapsedTime(milliseconds, start, end);
}

int cuStreamSynchronize(stream *which)
{
    HERE();
    which = stream_of(which);
    drained(which, 1);
    return gpus[which->gpu].broken;
}

int cuStreamQuery(stream *which)
{
    HERE();
    which = stream_of(which);
    return gpus[which->gpu].broken ? gpus[which->gpu].broken : drained(which, 0) ? OK : NOT_READY;
}

int cuMemcpyAsync(u64 to, u64 from, size_t size, stream *on)
{
    HERE();
    on = stream_of(on);
    const block *target = block_of((void *)to), *source = block_of((void *)from);
    if (!target || !source || (char *)to + size > target->at + target->size
        || (char *)from + size > source->at + source->size)
        return INVALID;
    int other = target->gpu == on->gpu ? source->gpu : target->gpu;
    operation op = {.kind = COPY, .to = (char *)to, .from = (char *)from, .size = size,
                    .direct = other == on->gpu || reach[on->gpu][other]};
    return queue(on, &op);
}

static int set(u64 to, unsigned char byte, size_t size, stream *on)
{
    const block *target = block_of((void *)to);
    if (!target || (char *)to + size > target->at + target->size)
        return INVALID;
    operation op = {.kind = SET, .to = (char *)to, .byte = byte, .size = size};
    return queue(stream_of(on), &op);
}

/* Of device memory: comes back at once, and only what uses the default stream too comes after it. */
int cuMemsetD8_v2(u64 to, unsigned char byte, size_t size) { HERE(); return set(to, byte, size, NULL); }
int cuMemsetD8Async(u64 to, unsigned char byte, size_t size, stream *on) { HERE(); return set(to, byte, size, on); }

static int upload(u64 to, const void *from, size_t size, stream *on)
{
    const block *target = block_of((void *)to);
    if (!target || (char *)to + size > target->at + target->size)
        return INVALID;
    operation op = {.kind = COPY, .to = (char *)to, .from = malloc(size + !size), .size = size, .staged = 1};
    memcpy(op.from, from, size);
    return queue(stream_of(on), &op);
}

/* From pageable memory: comes back when the data is staged, not when it has arrived. */
int cuMemcpyHtoD_v2(u64 to, const void *from, size_t size) { HERE(); return upload(to, from, size, NULL); }
int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t size, stream *on)
{
    HERE();
    return upload(to, from, size, on);
}

int cuMemcpyDtoH_v2(void *to, u64 from, size_t size)
{
    HERE();
    const block *source = block_of((void *)from);
    if (!source || (char *)from + size > source->at + source->size)
        return INVALID;
    if (current->legacy)
        drained(current->legacy, 1);
    if (current->broken)
        return current->broken;
    memcpy(to, (void *)from, size);
    return OK;
}

int cuStreamBeginCapture_v2(stream *which, int mode)
{
    (void)mode;
    HERE();
    if (!which || which->capturing)
        return INVALID;
    which->graph = calloc(1, sizeof *which->graph);
    which->capturing = 1;
    return OK;
}

int cuStreamEndCapture(stream *which, graph **made)
{
    HERE();
    if (!which || !which->capturing)
        return INVALID;
    which->capturing = 0;
    *made = which->graph;
    return OK;
}

int cuGraphInstantiateWithFlags(graph **executable, graph *given, u64 flags)
{
    (void)flags;
    HERE();
    *executable = given;
    return OK;
}

int cuGraphLaunch(graph *which, stream *on)
{
    HERE();
    int code = OK;
    for (const operation *op = which->first; op && !code; op = op->next)
        code = queue(stream_of(on), op);
    return code;
}

int cuLaunchHostFunc(stream *on, void (*run)(void *), void *user)
{
    HERE();
    operation op = {.kind = HOST, .function = run, .user = user};
    return queue(stream_of(on), &op);
}

/* Not of CUDA: the fake NCCL says how long its work takes. */
int fakeDelay(stream *on, double nanoseconds)
{
    HERE();
    operation op = {.kind = DELAY, .length = nanoseconds};
    return queue(stream_of(on), &op);
}

int cuDeviceCanAccessPeer(int *value, int of, int other)
{
    ENTER(of);
    *value = of != other && between("nopeer", of, other, 0) == 0;
    return OK;
}

int cuCtxEnablePeerAccess(gpu *other, unsigned flags)
{
    (void)flags;
    HERE();
    if (other == current)
        return 101;
    if (between("nopeer", current->index, other->index, 0))
        return NO_PEER;
    if (reach[current->index][other->index])
        return PEER_ALREADY;
    reach[current->index][other->index] = 1;
    return OK;
}

int cuCtxDisablePeerAccess(gpu *other)
{
    HERE();
    if (!reach[current->index][other->index])
        return PEER_NOT;
    reach[current->index][other->index] = 0;
    return OK;
}

int cuIpcGetMemHandle(handle *made, u64 address)
{
    HERE();
    const block *found = block_of((void *)address);
    if (!found || found->opened)
        return INVALID;
    memset(made, 0, 64);
    *made = (handle){getpid(), found->descriptor, found->gpu, 0x7fa4e, found->size};
    return OK;
}

typedef struct opaque { char bytes[64]; } opaque;

int cuIpcOpenMemHandle_v2(u64 *address, opaque given, unsigned flags)
{
    (void)flags;
    HERE();
    handle from;
    memcpy(&from, given.bytes, sizeof from);
    if (from.magic != 0x7fa4e || from.pid == getpid())
        return INVALID;
    if (from.gpu != current->index && between("nopeer", current->index, from.gpu, 0))
        return NO_PEER;
    char *at = shared_by(from.pid, from.descriptor, from.size);
    if (!at)
        return INVALID;
    add_block(at, from.size, from.gpu, -1, 1);
    *address = (u64)at;
    return OK;
}
