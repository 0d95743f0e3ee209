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
enum { RANKS = 8, PART = 1 << 20, PLACES = 3 };
/* A rank may be one round ahead of a reader who still looks at this round's data and at that before: three places. */
typedef struct room {
    atomic_int joined;
    _Atomic u32 bell;           /* rung at each arrival: waiting by polling costs an emulated machine more than the work */
    _Atomic u64 arrived[RANKS];
    char data[PLACES][RANKS][PART];
} room;
typedef struct identity { int pid, descriptor; char rest[120]; } identity;
typedef struct work { struct work *next; struct communicator *of; const char *from; char *to; size_t size; } work;
typedef struct communicator {
    room *room;
    int rank, ranks;
    u64 round, done;
    size_t size;            /* of the last part that was summed, and its sum */
    char sum[PART];
    work *works;
} communicator;

static int (*on_stream)(void *, void (*)(void *), void *);
static int (*takes)(void *, double);
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
    if (!on_stream || !takes || !repeats)
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

/* Whether every rank brings what it brought to the round before. */
static int as_before(const communicator *own, size_t size)
{
    const room *here = own->room;
    if (own->size != size)
        return 0;
    for (int rank = 0; rank < own->ranks; rank++)
        if (!equal_bytes(here->data[own->round % PLACES][rank], here->data[(own->round - 1) % PLACES][rank], size))
            return 0;
    return 1;
}

static void sum(communicator *own, size_t size)
{
    if (as_before(own, size))
        return;
    for (int rank = 0; rank < own->ranks; rank++) {
        const char *theirs = own->room->data[own->round % PLACES][rank];
        if (rank == 0)
            copy_bytes(own->sum, theirs, size);
        else
            add_halves((uint16_t *)own->sum, (const uint16_t *)theirs, size / 2);
    }
    own->size = size;
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

static void run(void *argument)
{
    const work *todo = argument;
    communicator *own = todo->of;
    pass("reduce", own->rank, -1);
    for (size_t at = 0; at < todo->size; at += PART) {
        size_t size = todo->size - at < PART ? todo->size - at : PART;
        u64 round = ++own->round;
        copy_bytes(own->room->data[round % PLACES][own->rank], todo->from + at, size);
        arrive(own->room, own->rank, round);
        for (int rank = 0; rank < own->ranks; rank++)
            await(own->room, rank, round);
        sum(own, size);
        copy_bytes(todo->to + at, own->sum, size);
    }
    int who = -1;
    double from = 0;
    own->done++;
    const char *wrong = word("wrong");
    if (wrong && sscanf(wrong, "%d,%lf", &who, &from) == 2 && who == own->rank && (double)own->done >= from)
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
