/* What the stand-in libraries ask of the kernel module where no variable describes a machine: its version, its boards.
 * As NVIDIA's libraries they refuse to work with a module of another version; theirs is in their file's name. */
#ifndef DRIVER_H
#define DRIVER_H
#include "words.h"
#include <dirent.h>
#include <dlfcn.h>

#define DRIVER "/proc/driver/nvidia"
#define DEFAULT_VERSION "595.71.05"

typedef struct place { unsigned domain, bus, device; int minor; char bdf[16], uuid[64], model[80], vbios[40]; } place;

/* The version in the name of the file that holds `symbol` (libcuda.so.595.71.05), or the default. */
static const char *library_version(const void *symbol)
{
    static char version[40];
    char path[4096];
    Dl_info found;
    const char *at;
    if (version[0])
        return version;
    snprintf(version, sizeof version, DEFAULT_VERSION);
    if (dladdr(symbol, &found) && found.dli_fname && realpath(found.dli_fname, path) && (at = strstr(path, ".so."))
        && strchr(at + 4, '.'))
        snprintf(version, sizeof version, "%.39s", at + 4);
    return version;
}

/* 1: the loaded module has this version, 0: another one, -1: none is loaded. */
__attribute__((unused)) static int module_is(const char *version)
{
    char line[256] = "", wanted[64];
    FILE *file = fopen(DRIVER "/version", "r");
    if (!file)
        return -1;
    char *read = fgets(line, sizeof line, file);
    fclose(file);
    snprintf(wanted, sizeof wanted, "  %s  ", version);
    return read && strstr(line, wanted);
}

static void field(const char *line, const char *name, char *to, size_t size)
{
    size_t length = strlen(name);
    if (strncmp(line, name, length) || line[length] != ':')
        return;
    line += length + 1;
    line += strspn(line, " \t");
    snprintf(to, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static int by_address(const void *a, const void *b) { return strcmp(((const place *)a)->bdf, ((const place *)b)->bdf); }

/* The module's boards in address order; returns how many. */
__attribute__((unused)) static int places_of_the_module(place *found, int most)
{
    DIR *folder = opendir(DRIVER "/gpus");
    int count = 0;
    if (!folder)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) && count < most;) {
        char path[512], line[256], minor[16] = "-1";
        place *one = &found[count];
        memset(one, 0, sizeof *one);
        if (sscanf(entry->d_name, "%4x:%2x:%2x.0", &one->domain, &one->bus, &one->device) != 3)
            continue;
        snprintf(one->bdf, sizeof one->bdf, "%.15s", entry->d_name);
        snprintf(path, sizeof path, DRIVER "/gpus/%s/information", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            field(line, "GPU UUID", one->uuid, sizeof one->uuid);
            field(line, "Model", one->model, sizeof one->model);
            field(line, "Video BIOS", one->vbios, sizeof one->vbios);
            field(line, "Device Minor", minor, sizeof minor);
        }
        if (file)
            fclose(file);
        one->minor = atoi(minor);
        count++;
    }
    closedir(folder);
    qsort(found, (size_t)count, sizeof *found, by_address);
    return count;
}
#endif
