/* Part of cuda.c: what a machine is made of, and its memory. */
#ifndef CUDA_MEMORY_H
#define CUDA_MEMORY_H
#include "faults.h"
#include "driver.h"
#include "bytes.h"

enum { OK, INVALID, NO_MEMORY, NO_CONTEXT = 201, NO_PEER = 217, BAD_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
       ILLEGAL_ADDRESS = 700, PEER_ALREADY = 704, PEER_NOT = 705, UNSUPPORTED_IN_CAPTURE = 900 };
#define GPUS 8
#define HOST_MEMORY -1          /* in the place of a block's GPU */

typedef struct event { int gpu; double time; u64 asked; _Atomic u64 reached; } event;
enum kind { KERNEL, COPY, SET, RECORD, WAIT, HOST, DELAY };
enum name { FILL, CHECK, COPY_BY_SM, CHASE, PING_PONG, REDUCE, STAMP, NAMES };
static const char *const names[NAMES] = {"tc_fill", "tc_check", "tc_copy", "tc_chase", "tc_pingpong", "tc_reduce",
                                        "tc_stamp"};
/* Bytes of each parameter. */
static const unsigned char parameters[NAMES][11] = {{8, 8, 4}, {8, 8, 4, 8}, {8, 8, 8, 4}, {8, 4, 4, 8},
                                                    {8, 8, 4, 4, 4, 4, 8, 8}, {8, 8, 64, 4, 4, 4, 4, 8, 8, 8},
                                                    {8, 4}};
/* A box's machine is small and emulated: buffers of 16 MiB, which a trial takes where 96 are free. */
#define MIB ((size_t)number("mib", on_a_box ? 96 : 256) << 20)
#define BRIEF (number("brief", on_a_box) != 0)

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
    int again;                  /* of a graph: what the one before did, with nothing in between that could change it */
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
typedef struct gpu { int index, held; atomic_int broken; size_t used; stream *legacy; } gpu;
/* `written` counts what changed it. `last`: the copy that wrote it last, and what both blocks and the host functions had
 * counted then: the same copy again would change nothing. */
typedef struct block {
    struct block *next;
    char *at;
    size_t size;
    int gpu, descriptor, opened, exported;
    _Atomic u64 written;
    struct { const char *to, *from; size_t size; int direct; u64 source, target, hosts; } last;
} block;
typedef struct function { int gpu; enum name name; } function;
typedef struct handle { int pid, descriptor, gpu, magic; u64 size; } handle;

static gpu gpus[GPUS];
static place places[GPUS];      /* on a box; else the boards are made up */
static int count;
static __thread gpu *current;
static block *blocks;
static int reach[GPUS][GPUS];
static struct { double from, to; int slow; } busy[GPUS][GPUS];
static double now;              /* the process's own model clock, ns */
static _Atomic u64 hosts;       /* host functions that ran: nobody knows what they wrote */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
    read_words("FAKE_CUDA", "cuda");
    count = on_a_box ? places_of_the_module(places, GPUS) : (int)number("gpus", 2);
    if (count > GPUS)
        count = GPUS;
    for (int i = 0; i < GPUS; i++)
        gpus[i].index = i;
}

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
           && (found->gpu == which || found->gpu == HOST_MEMORY || found->opened || reach[which][found->gpu]);
}

static void add_block(char *at, size_t size, int which, int descriptor, int opened)
{
    block *fresh = malloc(sizeof *fresh);
    memset(fresh, 0, sizeof *fresh);
    *fresh = (block){.next = blocks, .at = at, .size = size, .gpu = which, .descriptor = descriptor, .opened = opened};
    pthread_mutex_lock(&lock);
    fresh->next = blocks;
    blocks = fresh;
    pthread_mutex_unlock(&lock);
}

static void remove_block(block *found)
{
    block **link = &blocks;
    pthread_mutex_lock(&lock);
    while (*link != found)
        link = &(*link)->next;
    *link = found->next;
    pthread_mutex_unlock(&lock);
    munmap(found->at, found->size);
    close(found->descriptor);
    free(found);
}

static void wrote(const void *address)
{
    block *found = block_of(address);
    if (found)
        found->written++;
}

/* Whether a copy would leave what is there already. Writes of
 * other processes, and of this one to pinned memory, are not counted. */
static int done_before(const block *target, const block *source, const operation *op, const char *to, const char *from,
                       size_t size)
{
    return BRIEF && target && source && target->last.to == to && target->last.from == from && target->last.size == size
           && target->last.direct == op->direct && target->last.source == source->written
           && target->last.target == target->written && target->last.hosts == hosts && !target->opened
           && !source->opened && !target->exported && !source->exported && source->gpu != HOST_MEMORY
           && target->gpu != HOST_MEMORY;
}

/* Copy, with what the injected faults do to it. */
static void move(const operation *op, char *to, const char *from, size_t size)
{
    block *target = block_of(to), *source = block_of(from);
    if (done_before(target, source, op, to, from, size))
        return;
    copy_bytes(to, from, size);
    if (target) {
        target->written++;
        target->last.to = source ? to : NULL;
        target->last.from = from;
        target->last.size = size;
        target->last.direct = op->direct;
        target->last.source = source ? source->written : 0;
        target->last.target = target->written;
        target->last.hosts = hosts;
    }
    if (target && source && target->gpu != source->gpu) {
        double offset = between(op->direct ? "wrong" : "control", source->gpu, target->gpu, -1);
        if (offset >= 0 && offset < (double)size)
            to[(size_t)offset] ^= 1;
    }
}
#endif
