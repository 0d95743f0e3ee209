/* What the stand-ins for libcuda and libnccl share: one injected fault, patient waits, memory between processes.
 *
 * One fault may be described by words (words.h):
 *   at=SITE[,A[,B]]   where: a function of the API, or a name that the library's own comment gives; on GPU (rank) A, to B
 *   do=WHAT           hang (for ever) | stop (SIGSTOP) | die (SIGKILL) | gone,CODE (this and every later call fails)
 *                     | stuck (in the kernel, on the silent filesystem $FAKE_STUCK: silent_fuse.py)
 *                     | CODE (calls at the site fail with it)
 *   skip=N            the first N times pass
 *   once=1            only the first process that comes there has the fault: it recovers. A marker `touched` in
 *                     $FAKE_FOLDER, or beside the words, says that one came
 *   stubborn=1        ignores SIGTERM, SIGINT and SIGHUP while it hangs
 */
#ifndef FAULTS_H
#define FAULTS_H
#include "words.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

__attribute__((unused)) static u64 real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* Wait a little: first awake, then asleep, because the machine has fewer cores than GPUs. */
static void patience(u64 *turns)
{
    if (++*turns < 200) {
        __asm__ volatile("" ::: "memory");
        return;
    }
    struct timespec pause = {0, *turns < (on_a_box ? 220 : 2000) ? 5000 : 500000};
    nanosleep(&pause, NULL);
}

static atomic_int gone;

static _Noreturn void hang(void)
{
    if (word("stubborn"))
        for (int i = 0; i < 3; i++)
            signal((int[]){SIGTERM, SIGINT, SIGHUP}[i], SIG_IGN);
    for (;;)
        sleep(3600);
}

/* Ask the filesystem that never answers: the calling thread is in state D, and SIGKILL does not end it. */
static void stuck(void)
{
    struct stat found;
    char path[4096];
    const char *folder = getenv("FAKE_STUCK");
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/file", folder);
    stat(path, &found);
}

/* Whether this process is the first that comes to the fault. */
static int first_here(void)
{
    static atomic_int mine;
    const char *folder = getenv("FAKE_FOLDER");
    char path[4096];
    if (!folder && on_a_box)
        folder = SETTINGS;
    if (mine || !folder)
        return mine || !folder;
    snprintf(path, sizeof path, "%s/touched", folder);
    int descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return 0;
    close(descriptor);
    mine = 1;
    return 1;
}

/* Pass a place where the fault may lie: returns 0, or the code with which to fail; or does not return. */
static int pass(const char *site, int a, int b)
{
    static atomic_int hits;
    const char *at = word("at"), *what = word("do");
    char name[64];
    int x = -1, y = -1;
    if (gone || !at || !what)
        return gone;
    if (sscanf(at, "%63[^,],%d,%d", name, &x, &y) < 1 || strcmp(name, site) || (x >= 0 && x != a) || (y >= 0 && y != b))
        return 0;
    if (hits++ < (int)number("skip", 0) || (word("once") && !first_here()))
        return 0;
    if (!strcmp(what, "hang"))
        hang();
    if (!strcmp(what, "stuck"))
        stuck();
    if (!strcmp(what, "stop"))
        raise(SIGSTOP);
    if (!strcmp(what, "die"))
        raise(SIGKILL);
    if (!strncmp(what, "gone,", 5))
        return gone = atoi(what + 5);
    return atoi(what);
}

/* Memory that other processes of this user can open, and that nothing has to clean up: it has no name. */
static void *shared(size_t size, int *descriptor)
{
    *descriptor = memfd_create("fake-gpu", MFD_CLOEXEC);
    if (*descriptor < 0 || ftruncate(*descriptor, (off_t)size))
        return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *shared_by(int pid, int theirs, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, theirs);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return at == MAP_FAILED ? NULL : at;
}
#endif
