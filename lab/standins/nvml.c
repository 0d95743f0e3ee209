/* A stand-in for libnvidia-ml.so.1 of one driver version: it knows no board, and like the real one it refuses to work
 * with a kernel module of another version (NVML_ERROR_LIB_RM_VERSION_MISMATCH, nvml.h of CUDA 13). */
#include <stdio.h>
#include <string.h>

#define INSUFFICIENT_SIZE 7
#define DRIVER_NOT_LOADED 9
#define LIB_RM_VERSION_MISMATCH 18

int nvmlInit_v2(void)
{
    char line[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file)
        return DRIVER_NOT_LOADED;
    char *read = fgets(line, sizeof line, file);
    fclose(file);
    return read && strstr(line, "  " VERSION "  ") ? 0 : LIB_RM_VERSION_MISMATCH;
}

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

int nvmlShutdown(void)
{
    return 0;
}

static int copy(char *to, unsigned size)
{
    if (size < sizeof VERSION)
        return INSUFFICIENT_SIZE;
    memcpy(to, VERSION, sizeof VERSION);
    return 0;
}

int nvmlSystemGetDriverVersion(char *to, unsigned size)
{
    return copy(to, size);
}

int nvmlSystemGetNVMLVersion(char *to, unsigned size)
{
    return copy(to, size);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 0;
    return 0;
}

const char *nvmlErrorString(int code)
{
    return code == LIB_RM_VERSION_MISMATCH ? "Driver/library version mismatch"
         : code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : code ? "Unknown Error" : "Success";
}
