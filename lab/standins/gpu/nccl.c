/* A libnccl.so.2 on top of the fake libcuda: ranks are processes that meet in shared memory, sums are real and come in
 * the order of the stream, eager or captured. Like the real one it waits for ever.
 *
 * Words of FAKE_NCCL or /etc/tunecheck-standin/nccl (words.h). Sites of faults (faults.h) are the functions, and "reduce":
 * an all-reduce that runs, on rank A.
 *   us=X gbs=X        an all-reduce takes X us (20) + its bytes by the bus bandwidth X in GB/s (100)
 *   staged=X          with NCCL_P2P_DISABLE=1 X times as long (1; on a box 3)
 *   wrong=RANK,N      from this rank's N-th all-reduce on, the first element of its result is wrong
 *   p2p=1             faults are there only without NCCL_P2P_DISABLE=1
 */
#include "faults.h"
#include "bytes.h"
#include "half.h"
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum { OK, UNHANDLED_CUDA, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT };
enum { RANKS = 8, PART = 256 * 1024 };
/* A rank may be one round ahead of another: two places for what it says and brings. */
typedef struct room {
    atomic_int joined;
    _Atomic u32 bell;           /* rung at each arrival: waiting by polling costs an emulated machine more than the work */
    _Atomic u64 arrived[RANKS];
    int fresh[2][RANKS];
    char data[2][RANKS][PART];
} room;
typedef struct identity { int pid, descriptor; char rest[120]; } identity;
typedef struct work { struct work *next; struct communicator *of; const char *from; char *to; size_t size; } work;
/* `to` holds the sum of what `from` had, over `size` bytes; `versions` are what the driver had counted of both then. */
typedef struct communicator {
    room *room;
    int rank, ranks;
    u64 round, done;
    const char *from, *to;
    size_t size;
    u64 versions[2];
    work *works;
} communicator;

static int (*on_stream)(void *, void (*)(void *), void *);
static int (*takes)(void *, double);
static u64 (*version)(const void *);
static double slower = 1;
static int (*repeats)(void (*)(void *), void (*)(void *));
static void run(void *argument);
static void count(void *argument);

__attribute__((constructor)) static void begin(void)
{
    const char *disabled = getenv("NCCL_P2P_DISABLE");
    read_words("FAKE_NCCL", "nccl");
    slower = disabled && !strcmp(disabled, "1") ? number("staged", on_a_box ? 3 : 1) : 1;
    if (word("p2p") && disabled && !strcmp(disabled, "1"))
        for (int i = 0; i < word_count; i++)
            if (!strcmp(words[i].name, "at") || !strcmp(words[i].name, "wrong"))
                words[i].name[0] = 0;
}

const char *ncclGetErrorString(int code)
{
    return code == OK ? "no error" : code == UNHANDLED_CUDA ? "unhandled cuda error"
           : code == SYSTEM_ERROR ? "unhandled system error" : code == INTERNAL_ERROR ? "internal error"
           : "invalid argument";
}

int ncclGetVersion(int *version) { *version = 22809; return pass(__func__, -1, -1); }

int ncclGetUniqueId(identity *made)
{
    memset(made, 0, sizeof *made);
    made->pid = getpid();
    return shared(sizeof(room), &made->descriptor) ? pass(__func__, -1, -1) : SYSTEM_ERROR;
}

int ncclCommInitRank(communicator **made, int ranks, identity id, int rank)
{
    int code = pass(__func__, rank, -1);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (code)
        return code;
    if (ranks < 1 || ranks > RANKS || rank < 0 || rank >= ranks)
        return INVALID_ARGUMENT;
    if (!driver)
        return UNHANDLED_CUDA;
    on_stream = (int (*)(void *, void (*)(void *), void *))dlsym(driver, "cuLaunchHostFunc");
    takes = (int (*)(void *, double))dlsym(driver, "fakeDelay");
    repeats = (int (*)(void (*)(void *), void (*)(void *)))dlsym(driver, "fakeRepeatable");
    version = (u64 (*)(const void *))dlsym(driver, "fakeVersion");
    if (!on_stream || !takes || !repeats || !version)
        return INTERNAL_ERROR;
    repeats(run, count);
    communicator *fresh = calloc(1, sizeof *fresh);
    fresh->room = shared_by(id.pid, id.descriptor, sizeof(room));
    fresh->rank = rank;
    fresh->ranks = ranks;
    if (!fresh->room)
        return SYSTEM_ERROR;
    fresh->room->joined++;
    for (u64 turns = 0; fresh->room->joined < ranks;)
        patience(&turns);
    *made = fresh;
    return OK;
}

static void arrive(room *here, int rank, u64 round)
{
    here->arrived[rank] = round;
    here->bell++;
    syscall(SYS_futex, &here->bell, FUTEX_WAKE, RANKS, NULL, NULL, 0);
}

static void await(room *here, int rank, u64 round)
{
    for (;;) {
        u32 heard = here->bell;
        if (here->arrived[rank] >= round)
            return;
        syscall(SYS_futex, &here->bell, FUTEX_WAIT, heard, NULL, NULL, 0);
    }
}

/* Say that this rank is in its next round, and wait for the others. */
static u64 meet(communicator *own)
{
    arrive(own->room, own->rank, ++own->round);
    for (int rank = 0; rank < own->ranks; rank++)
        await(own->room, rank, own->round);
    return own->round;
}

static void sum(communicator *own, const char *from, char *to, size_t size)
{
    room *here = own->room;
    copy_bytes(here->data[(own->round + 1) & 1][own->rank], from, size);
    u64 round = meet(own);
    for (int rank = 0; rank < own->ranks; rank++)
        if (rank == 0)
            copy_bytes(to, here->data[round & 1][rank], size);
        else
            add_halves((uint16_t *)to, (const uint16_t *)here->data[round & 1][rank], size / 2);
}

static int is_wrong(const communicator *own)
{
    const char *wrong = word("wrong");
    int who = -1;
    double from = 0;
    return wrong && sscanf(wrong, "%d,%lf", &who, &from) == 2 && who == own->rank && (double)own->done >= from;
}

/* Serving engines sum the same buffers again and again. What no rank has changed since is there already. */
static int is_there(const work *todo)
{
    const communicator *own = todo->of;
    return own->from == todo->from && own->to == todo->to && todo->size <= own->size
           && own->versions[0] == version(todo->from) && own->versions[1] == version(todo->to);
}

static void run(void *argument)
{
    const work *todo = argument;
    communicator *own = todo->of;
    room *here = own->room;
    pass("reduce", own->rank, -1);
    own->done++;
    here->fresh[(own->round + 1) & 1][own->rank] = !is_there(todo) || is_wrong(own);
    u64 round = meet(own);
    int fresh = 0;
    for (int rank = 0; rank < own->ranks; rank++)
        fresh |= here->fresh[round & 1][rank];
    if (!fresh)
        return;
    for (size_t at = 0; at < todo->size; at += PART)
        sum(own, todo->from + at, todo->to + at, todo->size - at < PART ? todo->size - at : PART);
    own->from = todo->from;
    own->to = todo->to;
    own->size = todo->size;
    own->versions[0] = version(todo->from);
    own->versions[1] = version(todo->to);
    if (is_wrong(own))
        todo->to[0] ^= 1;
}

/* Instead of an all-reduce that would leave what is there (cuda.c: brief). */
static void count(void *argument)
{
    const work *todo = argument;
    pass("reduce", todo->of->rank, -1);
    todo->of->done++;
}

/* One and the same for the same arguments; never freed, as a graph runs it again and again. */
static work *work_of(communicator *of, const char *from, char *to, size_t size)
{
    work *found = of->works;
    while (found && !(found->from == from && found->to == to && found->size == size))
        found = found->next;
    if (!found) {
        found = malloc(sizeof *found);
        *found = (work){of->works, of, from, to, size};
        of->works = found;
    }
    return found;
}

int ncclAllReduce(const void *from, void *to, size_t elements, int type, int operation, communicator *of, void *stream)
{
    int code = pass(__func__, of->rank, -1);
    if (code)
        return code;
    if (type != 6 || operation != 0)
        return INVALID_ARGUMENT;
    work *todo = work_of(of, from, to, elements * 2);
    double share = 2 * ((double)of->ranks - 1) / of->ranks;
    if (takes(stream, slower * (number("us", 20) * 1000 + (double)todo->size * share / number("gbs", 100))))
        return UNHANDLED_CUDA;
    return on_stream(stream, run, todo) ? UNHANDLED_CUDA : OK;
}

int ncclCommGetAsyncError(communicator *of, int *code) { (void)of; *code = OK; return OK; }
int ncclCommAbort(communicator *of) { (void)of; return OK; }
int ncclCommDestroy(communicator *of) { (void)of; return OK; }
