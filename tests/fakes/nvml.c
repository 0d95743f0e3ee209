/* A libnvidia-ml.so.1 that tells of boards which are not there, or breaks in one chosen way. For tests only.
 *
 * FAKE_NVML, words separated by spaces:
 *   gpus=N          so many boards (2), 0000:03:00.0 and up, one bus each
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
 * What setters set is kept in the file FAKE_NVML_STATE, where one is named: "index persistence mW lowest highest" lines.
 * Functions that are not here are "FUNCTION_NOT_FOUND" to the caller, as in an old library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK 0
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define INSUFFICIENT_SIZE 7
#define NO_PERMISSION 4
#define LOST 15
#define MIB (1ull << 20)

typedef struct board { int index; } board;
static board boards[256];

static const char *option(const char *name)
{
    static char text[512];
    const char *all = getenv("FAKE_NVML");
    snprintf(text, sizeof text, "%s", all ? all : "");
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        size_t length = strlen(name);
        if (!strncmp(word, name, length) && word[length] == '=')
            return word + length + 1;
    }
    return NULL;
}

static int number(const char *name, int otherwise)
{
    const char *text = option(name);
    return text ? atoi(text) : otherwise;
}

static int trouble(const char *function, const board *which)
{
    const char *crash = option("crash");
    if (crash && !strcmp(crash, function) && which->index == 1)
        *(volatile int *)0 = 1;
    const char *hang = option("hang");
    if (hang && !strcmp(hang, function) && which->index == 1)
        for (;;)
            sleep(3600);
    return OK;
}

static int is(const char *name, const char *function, const board *which)
{
    const char *text = option(name);
    return text && !strcmp(text, function) && which->index == 1;
}

typedef struct set { int persistence; unsigned power, lowest, highest; } set;
static set sets[256];

static set *of(const board *which)
{
    static int read;
    const char *path = getenv("FAKE_NVML_STATE");
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
    const char *path = getenv("FAKE_NVML_STATE");
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
    if (number("unlisted", 0))
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

int nvmlInitWithFlags(unsigned flags) { (void)flags; return number("init", OK); }
const char *nvmlErrorString(int code) { (void)code; return "fake error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { snprintf(text, size, "595.71.05"); return OK; }
int nvmlSystemGetNVMLVersion(char *text, unsigned size) { snprintf(text, size, "13.595.71.05"); return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = (unsigned)number("gpus", 2); return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, board **out)
{
    if ((int)index == number("lost", -1))
        return LOST;
    boards[index].index = (int)index;
    *out = &boards[index];
    return trouble("nvmlDeviceGetHandleByIndex_v2", *out);
}

struct pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char text[32]; };

int nvmlDeviceGetPciInfo_v3(board *which, struct pci *out)
{
    trouble("nvmlDeviceGetPciInfo_v3", which);
    unsigned bus = 3u + (unsigned)which->index;
    *out = (struct pci){.domain = bus >> 8, .bus = bus & 255, .device = 0, .ids = 0x2bb110de};
    snprintf(out->text, sizeof out->text, "%08X:%02X:00.0", out->domain, out->bus);
    return OK;
}

TEXT(nvmlDeviceGetName, "NVIDIA RTX PRO 6000 Blackwell Workstation Edition")
TEXT(nvmlDeviceGetUUID, "GPU-%08x-0000-0000-0000-000000000000", (unsigned)which->index)
TEXT(nvmlDeviceGetVbiosVersion, "98.02.52.00.02")
REFUSE(nvmlDeviceGetSerial)

struct memory { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(board *which, struct memory *out)
{
    trouble("nvmlDeviceGetMemoryInfo_v2", which);
    out->total = 97887 * MIB; out->reserved = 600 * MIB; out->used = 0; out->free = out->total;
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
    (void)type; (void)counter;
    *out = 0;
    return OK;
}

int nvmlDeviceGetRemappedRows(board *which, unsigned *a, unsigned *b, unsigned *c, unsigned *d)
{
    trouble("nvmlDeviceGetRemappedRows", which);
    *a = *b = *c = *d = 0;
    return OK;
}

int nvmlDeviceGetCurrentClocksEventReasons(board *which, unsigned long long *out)
{
    trouble("nvmlDeviceGetCurrentClocksEventReasons", which);
    *out = 1;
    return OK;
}

TWO(nvmlDeviceGetEccMode, 1, 1)
REFUSE(nvmlDeviceGetMigMode)
TWO(nvmlDeviceGetPowerManagementLimitConstraints, 150000, 600000)
NUMBER_OF(nvmlDeviceGetTemperature, 35)
NUMBER_OF(nvmlDeviceGetTemperatureThreshold, 95)
NUMBER_OF(nvmlDeviceGetClockInfo, 405)
NUMBER_OF(nvmlDeviceGetMaxClockInfo, 3090)
NUMBER(nvmlDeviceGetPowerUsage, 15000)
NUMBER(nvmlDeviceGetPowerManagementLimit, of(which)->power)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, 600000)
NUMBER(nvmlDeviceGetPerformanceState, 8)
NUMBER(nvmlDeviceGetPersistenceMode, (unsigned)of(which)->persistence)
NUMBER(nvmlDeviceGetComputeMode, 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 1)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)
NUMBER(nvmlDeviceGetPcieReplayCounter, (unsigned)number("replays", 0))

int nvmlDeviceGetNvLinkState(board *which, unsigned link, unsigned *out)
{
    trouble("nvmlDeviceGetNvLinkState", which);
    int links = number("links", 0);
    if (!links)
        return NOT_SUPPORTED;
    if ((int)link >= links)
        return INVALID_ARGUMENT;
    *out = 1;
    return OK;
}

struct process { unsigned pid; unsigned long long used; unsigned gi, ci; };
int nvmlDeviceGetComputeRunningProcesses_v3(board *which, unsigned *count, struct process *out)
{
    trouble("nvmlDeviceGetComputeRunningProcesses_v3", which);
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

int nvmlDeviceGetTopologyCommonAncestor(board *a, board *b, unsigned *out)
{
    (void)a;
    trouble("nvmlDeviceGetTopologyCommonAncestor", b);
    *out = (unsigned)number("ancestor", 10);
    return OK;
}

int nvmlDeviceGetP2PStatus(board *a, board *b, unsigned index, unsigned *out)
{
    trouble("nvmlDeviceGetP2PStatus", b);
    int from, to, code;
    const char *text = option("p2p");
    *out = index == 2 ? 5 : 0;
    if (text && index == 0 && sscanf(text, "%d,%d,%d", &from, &to, &code) == 3 && a->index == from && b->index == to)
        *out = (unsigned)code;
    return OK;
}

struct rates { unsigned gpu, memory; };
int nvmlDeviceGetUtilizationRates(board *which, struct rates *out)
{
    trouble("nvmlDeviceGetUtilizationRates", which);
    *out = (struct rates){0, 0};
    return OK;
}
