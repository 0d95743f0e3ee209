/* Part of cuda.c: streams: queues with a thread each. */
#ifndef CUDA_STREAMS_H
#define CUDA_STREAMS_H
#include "cuda_kernels.h"
#include "cuda_model.h"

static int run_one(operation *op, int which)
{
    int code = OK;
    if (op->again)
        return repeat(op, which);
    switch (op->kind) {
    case KERNEL: return run_kernel(op, which);
    case COPY:
        if ((code = peer(op, op->to, op->from)))
            return code;
        move(op, op->to, op->from, op->size);
        return OK;
    case SET:
        memset(op->to, op->byte, op->size);
        wrote(op->to);
        return OK;
    case HOST:
        op->function(op->user);
        hosts++;
        return OK;
    default: return OK;
    }
}

static void *run_stream(void *argument)
{
    stream *own = argument;
    pthread_mutex_lock(&own->mutex);
    for (;;) {
        while (!own->first) {
            own->working = 0;
            pthread_cond_broadcast(&own->changed);      /* not after each operation: a graph has hundreds */
            pthread_cond_wait(&own->changed, &own->mutex);
        }
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

/* A copy of an operation with its times, as the next one of a stream. */
static operation *timed(stream *on, const operation *given)
{
    operation *op = malloc(sizeof *op);
    *op = *given;
    op->next = NULL;
    double start = on->clock > now ? on->clock : now;
    if (op->kind == WAIT && op->event->time > start)
        start = op->event->time;
    op->length = length_of(op, on->gpu, start);
    op->end = on->clock = start + op->length;
    if (op->kind == RECORD)
        op->event->time = op->end;
    return op;
}

/* `first` to `last`, a list. */
static void append(stream *on, operation *first, operation *last)
{
    pthread_mutex_lock(&on->mutex);
    if (on->first)
        on->last->next = first;
    else
        on->first = first;
    on->last = last;
    pthread_cond_broadcast(&on->changed);
    pthread_mutex_unlock(&on->mutex);
}

static int queue(stream *on, const operation *given)
{
    operation *op;
    if (on->capturing) {
        op = malloc(sizeof *op);
        *op = *given;
        op->next = NULL;
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
    op = timed(on, given);
    append(on, op, op);
    return OK;
}

static int same(const operation *a, const operation *b)
{
    return a->kind == b->kind && a->name == b->name && a->function == b->function && a->user == b->user
           && !memcmp(a->value, b->value, sizeof a->value) && !memcmp(a->scratch, b->scratch, sizeof a->scratch);
}

/* All but the first and the last all-reduce of a run of equal ones, an even number: tc_reduce and its peers change
 * between two halves of their memory, and those that compute must keep doing so. Stamps write nothing that counts. */
static void mark_repeats(graph *of)
{
    for (operation *first = of->first; first;) {
        operation *run[4096];
        int length = 0;
        operation *op = first;
        for (; op && length < 4096; op = op->next) {
            if (op->kind == DELAY || (op->kind == KERNEL && op->name == STAMP))
                continue;
            int reduces = op->kind == HOST ? repeatable && op->function == repeatable
                          : op->kind == KERNEL && op->name == REDUCE;
            if (!reduces || (length && !same(run[0], op)))
                break;
            run[length++] = op;
        }
        for (int i = 1; i < length - 1 - length % 2; i++)
            run[i]->again = 1;
        first = length ? op : first->next;
    }
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
#endif
