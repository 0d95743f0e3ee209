/* A libcuda.so.1 without a GPU, honest at its lowest seam: memory is real and shared between processes, copies are
 * copied, kernels of tunecheck.cu really compute, streams are threads that run behind their caller.
 *
 * Time is a model and exact: each process has a clock that only its queued work moves, computed when it is queued.
 *
 * Words of FAKE_CUDA or /etc/tunecheck-standin/cuda (words.h). Sites of faults (faults.h) are functions of the API,
 * "any" of them, kernels by name on GPU A, and "peer": copies by engine or SM with peer access from A to B.
 *   gpus=N mib=N sms=N   so many GPUs (2) with so much memory (256) and SMs (4); 0000:03:00.0 and up, one bus each.
 *                        On a box: those of the kernel module, 96 MiB and one SM each
 *   brief=1              a graph that repeats one all-reduce computes the first and the last of them, and a copy that was
 *                        made before is not made again: nothing changed in between, so what they leave is the same, to
 *                        the bit. On a box, unless brief=0
 *   gbs=X host_gbs=X     GB/s with peer access (50), and through the host (10)
 *   link=A,B,X           GB/s from A to B
 *   host=A,B             copies from A to B go through the host in silence: right, at a tenth of the speed
 *   hairpin=1            both directions of a pair share what one has
 *   collapse=X           flows of different sources to different targets at once: X times slower
 *   latency=X            ns of a load from a peer (700); far=A,B,X the same from A to B
 *   tail=X               each 20th all-reduce of tc_reduce takes X times as long
 *   wrong=A,B,OFFSET     with peer access, the word at OFFSET arrives wrong from A at B
 *   control=A,B,OFFSET   the same without
 *   lost=A,B[,N]         what kernels of A store at B never arrives (of tc_reduce: after N times)
 *   nopeer=A,B           the driver says no
 *   alloc_mib=N          an allocation above N MiB fails with "out of memory", whatever cuMemGetInfo says
 *   cell=A,A,OFFSET      the word at OFFSET of each buffer that a kernel of A fills keeps a wrong bit
 *   h2d=X d2h=X          GB/s from pinned memory of the host, and to it (host_gbs); GPU -1 in "wrong" is the host
 *   mode=N               compute mode
 *   mhz=N                the clock that kernels count their patience with (200)
 */
#include "cuda_streams.h"

static int enter(const char *name, int which)
{
    int code = pass("any", which, -1);
    return code ? code : pass(name, which, -1);
}
#define ENTER(which) do { int code_ = enter(__func__, which); if (code_) return code_; } while (0)
#define HERE() do { if (!current) return NO_CONTEXT; ENTER(current->index); \
                    if (current->broken) return current->broken; } while (0)

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

int cuInit(unsigned flags)
{
    (void)flags;
    ENTER(-1);
    if (!on_a_box)
        return OK;
    int same = module_is(library_version(names));
    if (same == 0)
        return 803;
    /* Held as long as the process lives, as the real one holds it; a container without the node has no GPU. */
    return same < 0 || !count || open("/dev/nvidiactl", O_RDWR | O_CLOEXEC) < 0 ? 100 : OK;
}
int cuDriverGetVersion(int *version) { ENTER(-1); *version = 13000; return OK; }
int cuDeviceGetCount(int *number_of) { ENTER(-1); *number_of = count; return OK; }

int cuDeviceGetAttribute(int *value, int which, int device)
{
    ENTER(device);
    if (device < 0 || device >= count)
        return 101;
    switch (which) {
    case 16: *value = (int)number("sms", on_a_box ? 1 : 4); break;
    case 20: *value = (int)number("mode", 0); break;
    case 33: *value = on_a_box ? (int)places[device].bus : 3 + device; break;
    case 34: *value = (int)places[device].device; break;
    case 50: *value = (int)places[device].domain; break;
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
    if (on_a_box && !gpus[device].held) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", places[device].minor);
        gpus[device].held = open(path, O_RDWR | O_CLOEXEC) >= 0;
        if (!gpus[device].held)
            return 101;
    }
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
    size_t total = MIB;
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

/* Pinned memory: a block of GPU -1 that every GPU of this process reaches. */
int cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
    (void)flags;
    HERE();
    int descriptor;
    char *at = size ? shared(size, &descriptor) : NULL;
    if (!at)
        return size ? NO_MEMORY : INVALID;
    add_block(at, size, HOST_MEMORY, descriptor, 0);
    *address = at;
    return OK;
}

int cuMemFreeHost(void *address)
{
    HERE();
    block *found = block_of(address);
    if (!found || found->gpu != HOST_MEMORY || found->at != (char *)address)
        return INVALID;
    remove_block(found);
    return OK;
}

int cuMemFree_v2(u64 address)
{
    HERE();
    block *found = block_of((void *)address);
    if (!found || found->gpu == HOST_MEMORY || found->at != (char *)address)
        return INVALID;
    gpus[found->gpu].used -= found->size;
    remove_block(found);
    return OK;
}

int cuMemGetInfo_v2(size_t *left, size_t *total)
{
    HERE();
    *total = MIB;
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
                    .direct = other == on->gpu || other == HOST_MEMORY || reach[on->gpu][other]};
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
    if (BRIEF)
        mark_repeats(which->graph);
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
    operation *first = NULL, **end = &first, *last = NULL;
    on = stream_of(on);
    if (on->capturing)
        return UNSUPPORTED_IN_CAPTURE;
    for (const operation *op = which->first; op; op = op->next) {
        *end = last = timed(on, op);
        end = &last->next;
    }
    if (first)
        append(on, first, last);
    return OK;
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

/* Nor this: how often this process has changed the block of an address, but for what host functions did. */
u64 fakeVersion(const void *address)
{
    const block *found = block_of(address);
    return found ? found->written : 0;
}

/* Nor this: which of its host functions need not compute again what they just did, and what to call instead. */
int fakeRepeatable(void (*run)(void *), void (*instead)(void *))
{
    repeatable = run;
    repeated = instead;
    return OK;
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
    block *found = block_of((void *)address);
    if (!found || found->opened)
        return INVALID;
    found->exported = 1;
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
