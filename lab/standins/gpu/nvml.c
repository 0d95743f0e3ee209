/* A libnvidia-ml.so.1 that tells of boards which are not there, or breaks in one chosen way.
 *
 * On a box (words.h) the boards are those of the kernel module, with its addresses and UUIDs; links and the way between
 * them are what sysfs has, processes those that hold the device node. All else is made up.
 *
 * Words of FAKE_NVML or /etc/tunecheck-standin/nvml (words.h):
 *   gpus=N          so many boards (2), 0000:03:00.0 and up, one bus each; not on a box
 *   mib=N           memory of a board (97887; on a box 96, as libcuda's)
 *   init=CODE       nvmlInit returns this error
 *   lost=I          board I gives no handle: GPU_IS_LOST
 *   crash=FUNCTION  this function, asked about board 1, writes to address 0
 *   hang=FUNCTION   this function, asked about board 1, sleeps for ever
 *   p2p=A,B,CODE    P2P read from board A to board B has this status
 *   replays=N       so many PCIe replays on every board
 *   links=N         so many NVLinks are up on every board
 *   deny=FUNCTION   this function, asked about board 1, returns NO_PERMISSION
 *   deaf=FUNCTION   this setter, asked about board 1, says OK and sets nothing
 *   idle=1          no process runs on any board
 *   unlisted=1      no board tells the clocks it supports
 *   mhz=N, mw=N, degrees=N, reasons=N   SM clock (405), power (15000), temperature (35) and why the clocks are not
 *                   higher (1: idle) of every board
 *   busy=N, memory=N   utilisation of SMs and of memory in % (0) of every board
 *   gone=FILE       once this file is there, nvmlInit says that the driver is not loaded
 * What setters set is kept in the file FAKE_NVML_STATE, where one is named, on a box in /run/tunecheck-standin-nvml:
 * "index persistence mW lowest highest" lines.
 * Functions that are not here are "FUNCTION_NOT_FOUND" to the caller, as in an old library.
 */
#include "words.h"
#include "driver.h"
#include <limits.h>
#include <unistd.h>

#define OK 0
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define INSUFFICIENT_SIZE 7
#define DRIVER_NOT_LOADED 9
#define LIB_RM_VERSION_MISMATCH 18
#define NO_PERMISSION 4
#define LOST 15
#define MIB (1ull << 20)

typedef struct board { int index; } board;
static board boards[256];
static place places[256];
static int count;

__attribute__((constructor)) static void begin(void)
{
    read_words("FAKE_NVML", "nvml");
    count = on_a_box ? places_of_the_module(places, 256) : (int)number("gpus", 2);
}

static int trouble(const char *function, const board *which)
{
    const char *crash = word("crash");
    if (crash && !strcmp(crash, function) && which->index == 1)
        *(volatile int *)0 = 1;
    const char *hang = word("hang");
    if (hang && !strcmp(hang, function) && which->index == 1)
        for (;;)
            sleep(3600);
    return OK;
}

static int is(const char *name, const char *function, const board *which)
{
    const char *text = word(name);
    return text && !strcmp(text, function) && which->index == 1;
}

typedef struct set { int persistence; unsigned power, lowest, highest; } set;
static set sets[256];

static const char *state(void)
{
    return on_a_box ? "/run/tunecheck-standin-nvml" : getenv("FAKE_NVML_STATE");
}

static set *of(const board *which)
{
    static int read;
    const char *path = state();
    FILE *file = read || !path ? NULL : fopen(path, "r");
    if (!read)
        for (int i = 0; i < 256; i++)
            sets[i] = (set){1, 600000, 0, 0};
    int index;
    set one;
    while (file && fscanf(file, "%d %d %u %u %u", &index, &one.persistence, &one.power, &one.lowest, &one.highest) == 5)
        sets[index & 255] = one;
    if (file)
        fclose(file);
    read = 1;
    return &sets[which->index];
}

static int keep(void)
{
    const char *path = state();
    FILE *file = path ? fopen(path, "w") : NULL;
    for (int i = 0; file && i < 256; i++)
        fprintf(file, "%d %d %u %u %u\n", i, sets[i].persistence, sets[i].power, sets[i].lowest, sets[i].highest);
    if (file)
        fclose(file);
    return OK;
}

#define SETTER(function, condition, ...) \
    { set *now = of(which); trouble(#function, which); \
      if (is("deny", #function, which)) return NO_PERMISSION; \
      if (!(condition)) return INVALID_ARGUMENT; \
      if (is("deaf", #function, which)) return OK; \
      __VA_ARGS__; return keep(); }

int nvmlDeviceSetPersistenceMode(board *which, unsigned on)
    SETTER(nvmlDeviceSetPersistenceMode, on <= 1, now->persistence = (int)on)
int nvmlDeviceSetPowerManagementLimit(board *which, unsigned limit)
    SETTER(nvmlDeviceSetPowerManagementLimit, limit >= 150000 && limit <= 600000, now->power = limit)
int nvmlDeviceSetGpuLockedClocks(board *which, unsigned lowest, unsigned highest)
    SETTER(nvmlDeviceSetGpuLockedClocks, lowest <= highest, now->lowest = lowest; now->highest = highest)
int nvmlDeviceResetGpuLockedClocks(board *which)
    SETTER(nvmlDeviceResetGpuLockedClocks, 1, now->lowest = now->highest = 0)

static int list(unsigned *count, unsigned *out, unsigned first, unsigned step, unsigned many)
{
    if (word("unlisted"))
        return NOT_SUPPORTED;
    int room = *count >= many && out;
    *count = many;
    for (unsigned i = 0; room && i < many; i++)
        out[i] = first - i * step;
    return room ? OK : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetSupportedMemoryClocks(board *which, unsigned *count, unsigned *out)
{ trouble("nvmlDeviceGetSupportedMemoryClocks", which); return list(count, out, 14001, 7000, 2); }
int nvmlDeviceGetSupportedGraphicsClocks(board *which, unsigned memory, unsigned *count, unsigned *out)
{ trouble("nvmlDeviceGetSupportedGraphicsClocks", which); return memory == 14001 ? list(count, out, 3090, 15, 195) : INVALID_ARGUMENT; }

#define TEXT(function, ...) \
    int function(board *which, char *text, unsigned size) \
    { trouble(#function, which); snprintf(text, size, __VA_ARGS__); return OK; }
#define NUMBER(function, value) \
    int function(board *which, unsigned *out) { trouble(#function, which); *out = (value); return OK; }
#define NUMBER_OF(function, value) \
    int function(board *which, unsigned of, unsigned *out) { trouble(#function, which); (void)of; *out = (value); return OK; }
#define TWO(function, first, second) \
    int function(board *which, unsigned *a, unsigned *b) { trouble(#function, which); *a = (first); *b = (second); return OK; }
#define REFUSE(function) int function(board *which) { trouble(#function, which); return NOT_SUPPORTED; }

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    const char *gone = word("gone");
    if (gone && !access(gone, F_OK))
        return DRIVER_NOT_LOADED;
    int same = on_a_box ? module_is(library_version(boards)) : 1;
    return same < 0 ? DRIVER_NOT_LOADED : same ? (int)number("init", OK) : LIB_RM_VERSION_MISMATCH;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code)
{
    return code == LIB_RM_VERSION_MISMATCH ? "Driver/library version mismatch"
         : code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : code ? "Unknown Error" : "Success";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "%s", library_version(boards));
    return OK;
}
int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    snprintf(text, size, "13.%s", library_version(boards));
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *many) { *many = (unsigned)count; return OK; }

/* A text of sysfs about a board, "" where there is none. */
static const char *sysfs(const board *which, const char *name)
{
    static char text[128];
    char path[256];
    text[0] = 0;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", places[which->index].bdf, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return text;
    if (!fgets(text, sizeof text, file))
        text[0] = 0;
    fclose(file);
    return text;
}

/* "2.5 GT/s PCIe" -> 1 */
static unsigned generation(const board *which, const char *name, unsigned otherwise)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64};
    double speed = on_a_box ? atof(sysfs(which, name)) : 0;
    for (unsigned i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (speed == speeds[i])
            return i + 1;
    return otherwise;
}

static unsigned lanes(const board *which, const char *name)
{
    int width = on_a_box ? atoi(sysfs(which, name)) : 0;
    return width > 0 ? (unsigned)width : 16;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, board **out)
{
    if ((int)index == (int)number("lost", -1))
        return LOST;
    if ((int)index >= count)
        return INVALID_ARGUMENT;
    boards[index].index = (int)index;
    *out = &boards[index];
    return trouble("nvmlDeviceGetHandleByIndex_v2", *out);
}

struct pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char text[32]; };

int nvmlDeviceGetPciInfo_v3(board *which, struct pci *out)
{
    trouble("nvmlDeviceGetPciInfo_v3", which);
    unsigned bus = 3u + (unsigned)which->index;
    const place *where = &places[which->index];
    *out = (struct pci){.domain = bus >> 8, .bus = bus & 255, .device = 0, .ids = 0x2bb110de};
    if (on_a_box) {
        *out = (struct pci){.domain = where->domain, .bus = where->bus, .device = where->device};
        out->ids = (unsigned)strtoul(sysfs(which, "device"), NULL, 16) << 16;
        out->ids |= (unsigned)strtoul(sysfs(which, "vendor"), NULL, 16);
        out->subsystem = (unsigned)strtoul(sysfs(which, "subsystem_device"), NULL, 16) << 16;
        out->subsystem |= (unsigned)strtoul(sysfs(which, "subsystem_vendor"), NULL, 16);
    }
    snprintf(out->text, sizeof out->text, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
    return OK;
}

TEXT(nvmlDeviceGetName, "%s", on_a_box ? places[which->index].model
                                       : "NVIDIA RTX PRO 6000 Blackwell Workstation Edition")
int nvmlDeviceGetUUID(board *which, char *text, unsigned size)
{
    trouble("nvmlDeviceGetUUID", which);
    if (on_a_box)
        snprintf(text, size, "%s", places[which->index].uuid);
    else
        snprintf(text, size, "GPU-%08x-0000-0000-0000-000000000000", (unsigned)which->index);
    return OK;
}
TEXT(nvmlDeviceGetVbiosVersion, "%s", on_a_box ? places[which->index].vbios : "98.02.52.00.02")
int nvmlDeviceGetMinorNumber(board *which, unsigned *out)
{
    trouble("nvmlDeviceGetMinorNumber", which);
    *out = on_a_box ? (unsigned)places[which->index].minor : (unsigned)which->index;
    return OK;
}
REFUSE(nvmlDeviceGetSerial)

struct memory { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(board *which, struct memory *out)
{
    trouble("nvmlDeviceGetMemoryInfo_v2", which);
    out->total = (unsigned long long)number("mib", on_a_box ? 96 : 97887) * MIB;
    out->reserved = out->total / 160; out->used = 0; out->free = out->total;
    return OK;
}

struct bar1 { unsigned long long total, free, used; };
int nvmlDeviceGetBAR1MemoryInfo(board *which, struct bar1 *out)
{
    trouble("nvmlDeviceGetBAR1MemoryInfo", which);
    *out = (struct bar1){131072 * MIB, 131071 * MIB, MIB};
    return OK;
}

int nvmlDeviceGetTotalEccErrors(board *which, unsigned type, unsigned counter, unsigned long long *out)
{
    trouble("nvmlDeviceGetTotalEccErrors", which);
    *out = counter ? 0 : (unsigned long long)number(type ? "uncorrected" : "corrected", 0);
    return OK;
}

int nvmlDeviceGetRemappedRows(board *which, unsigned *a, unsigned *b, unsigned *c, unsigned *d)
{
    trouble("nvmlDeviceGetRemappedRows", which);
    *a = *b = *c = *d = 0;
    return OK;
}

/* Each structure begins with its version. */
int nvmlDeviceGetSramEccErrorStatus(board *which, unsigned *out)
{
    trouble("nvmlDeviceGetSramEccErrorStatus", which);
    out[24] = (unsigned)number("sram", 0);
    return OK;
}

int nvmlDeviceGetRepairStatus(board *which, unsigned *out)
{
    trouble("nvmlDeviceGetRepairStatus", which);
    out[1] = (unsigned)number("channel", 0);
    out[2] = (unsigned)number("tpc", 0);
    return OK;
}

int nvmlDeviceGetUnrepairableMemoryFlag_v1(board *which, unsigned *out)
{
    trouble("nvmlDeviceGetUnrepairableMemoryFlag_v1", which);
    out[1] = (unsigned)number("unrepairable", 0);
    return OK;
}

int nvmlDeviceGetCurrentClocksEventReasons(board *which, unsigned long long *out)
{
    trouble("nvmlDeviceGetCurrentClocksEventReasons", which);
    *out = (unsigned long long)number("reasons", 1);
    return OK;
}

TWO(nvmlDeviceGetEccMode, 1, 1)
REFUSE(nvmlDeviceGetMigMode)
REFUSE(nvmlDeviceGetRetiredPagesPendingStatus)
TWO(nvmlDeviceGetPowerManagementLimitConstraints, 150000, 600000)
NUMBER_OF(nvmlDeviceGetTemperature, (unsigned)number("degrees", 35))
NUMBER_OF(nvmlDeviceGetTemperatureThreshold, 95)
NUMBER_OF(nvmlDeviceGetClockInfo, (unsigned)number("mhz", 405))
NUMBER_OF(nvmlDeviceGetMaxClockInfo, 3090)
NUMBER(nvmlDeviceGetPowerUsage, (unsigned)number("mw", 15000))
NUMBER(nvmlDeviceGetPowerManagementLimit, of(which)->power)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, (unsigned)number("enforced", (long)of(which)->power))
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, 600000)
NUMBER(nvmlDeviceGetPerformanceState, 8)
NUMBER(nvmlDeviceGetPersistenceMode, (unsigned)of(which)->persistence)
NUMBER(nvmlDeviceGetComputeMode, 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, generation(which, "current_link_speed", 1))
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, generation(which, "max_link_speed", 5))
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, generation(which, "max_link_speed", 5))
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, lanes(which, "current_link_width"))
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, lanes(which, "max_link_width"))
NUMBER(nvmlDeviceGetPcieReplayCounter, (unsigned)number("replays", 0))

int nvmlDeviceGetNvLinkState(board *which, unsigned link, unsigned *out)
{
    trouble("nvmlDeviceGetNvLinkState", which);
    int links = (int)number("links", 0);
    if (!links)
        return NOT_SUPPORTED;
    if ((int)link >= links)
        return INVALID_ARGUMENT;
    *out = 1;
    return OK;
}

struct process { unsigned pid; unsigned long long used; unsigned gi, ci; };

/* Whether a process has a board's device node open, as libcuda has for as long as it has a context. */
static int holds(const char *pid, const char *node)
{
    char path[300], target[64];
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    int found = 0;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        char link[600];
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        found = !strcmp(target, node);
    }
    if (folder)
        closedir(folder);
    return found;
}

static int holders(const board *which, unsigned *count, struct process *out)
{
    DIR *all = opendir("/proc");
    unsigned found = 0, room = out ? *count : 0;
    char node[32];
    snprintf(node, sizeof node, "/dev/nvidia%d", places[which->index].minor);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !holds(entry->d_name, node))
            continue;
        if (found < room)
            out[found] = (struct process){(unsigned)atoi(entry->d_name), 0, 0xffffffff, 0xffffffff};
        found++;
    }
    if (all)
        closedir(all);
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(board *which, unsigned *count, struct process *out)
{
    trouble("nvmlDeviceGetComputeRunningProcesses_v3", which);
    if (on_a_box)
        return holders(which, count, out);
    if (*count < 1 || !out) {
        *count = 1;
        return INSUFFICIENT_SIZE;
    }
    if (number("idle", 0)) {
        *count = 0;
        return OK;
    }
    *count = 1;
    *out = (struct process){4321, 512 * MIB, 0xffffffff, 0xffffffff};
    return OK;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(board *which, unsigned *count, struct process *out)
{
    trouble("nvmlDeviceGetGraphicsRunningProcesses_v3", which);
    (void)out;
    *count = 0;
    return OK;
}

/* The way between two boards in sysfs, as a level of nvml.h. */
static unsigned ancestor(const board *a, const board *b)
{
    enum { PIX = 10, PXB = 20, PHB = 30, NODE = 40, SYS = 50 };
    char path[2][256], real[2][PATH_MAX];
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "/sys/bus/pci/devices/%s", places[(i ? b : a)->index].bdf);
        if (!realpath(path[i], real[i]))
            return SYS;
    }
    size_t same = 0;
    for (size_t i = 0; real[0][i] && real[0][i] == real[1][i]; i++)
        if (real[0][i] == '/')
            same = i;
    /* /sys/devices/pci0000:00/0000:00:04.0/...: how many devices both have, and how many are below the last of them. */
    int shared = 0, below = 0;
    for (size_t i = 0; i < same; i++)
        shared += real[0][i] == '/';
    for (int i = 0; i < 2; i++) {
        int parts = 0;
        for (const char *at = real[i] + same; *at; at++)
            parts += *at == '/';
        below = parts > below ? parts : below;
    }
    if (shared < 3) {
        int node = atoi(sysfs(a, "numa_node"));
        return node == atoi(sysfs(b, "numa_node")) ? NODE : SYS;
    }
    return shared == 3 ? PHB : below <= 2 ? PIX : PXB;
}

int nvmlDeviceGetTopologyCommonAncestor(board *a, board *b, unsigned *out)
{
    trouble("nvmlDeviceGetTopologyCommonAncestor", b);
    *out = (unsigned)number("ancestor", on_a_box ? ancestor(a, b) : 10);
    return OK;
}

int nvmlDeviceGetP2PStatus(board *a, board *b, unsigned index, unsigned *out)
{
    trouble("nvmlDeviceGetP2PStatus", b);
    int from, to, code;
    const char *text = word("p2p");
    *out = index == 2 ? 5 : 0;
    if (text && index == 0 && sscanf(text, "%d,%d,%d", &from, &to, &code) == 3 && a->index == from && b->index == to)
        *out = (unsigned)code;
    return OK;
}

struct rates { unsigned gpu, memory; };
int nvmlDeviceGetUtilizationRates(board *which, struct rates *out)
{
    trouble("nvmlDeviceGetUtilizationRates", which);
    *out = (struct rates){(unsigned)number("busy", 0), (unsigned)number("memory", 0)};
    return OK;
}
