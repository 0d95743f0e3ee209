/* Part of cuda.c: what a machine is made of, and its memory. */
#ifndef CUDA_MEMORY_H
#define CUDA_MEMORY_H
#include "words.h"

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
    *fresh = (block){blocks, at, size, which, descriptor, opened};
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
#endif
