// SPDX-License-Identifier: MIT OR GPL-2.0
/* A stand-in for nvidia.ko where there is no GPU: a real kernel module with NVIDIA's name, version, parameters,
 * /proc/driver/nvidia and device major, and nothing behind them. Reading /dev/nvidiactl gives the version.
 *
 * Formats: kernel-open/nvidia/nv-procfs.c and nv-frontend.c of open-gpu-kernel-modules 595. */
#include <linux/module.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#ifdef STANDIN_MISMATCH
#include <linux/pci.h>
#endif

#define NV_MAJOR 195

#define NUMBERS(X) \
    X(ResmanDebugLevel, 4294967295u) X(RmLogonRC, 1) X(ModifyDeviceFiles, 1) X(DeviceFileUID, 0) X(DeviceFileGID, 0) \
    X(DeviceFileMode, 438) X(InitializeSystemMemoryAllocations, 1) X(UsePageAttributeTable, 4294967295u) \
    X(EnableMSI, 1) X(EnablePCIeGen3, 0) X(MemoryPoolSize, 0) X(KMallocHeapMaxSize, 0) X(VMallocHeapMaxSize, 0) \
    X(IgnoreMMIOCheck, 0) X(EnableStreamMemOPs, 0) X(EnableUserNUMAManagement, 1) X(NvLinkDisable, 0) \
    X(RestrictProfilingToAdminUsers, 1) X(PreserveVideoMemoryAllocations, 0) X(EnableS0ixPowerManagement, 0) \
    X(DynamicPowerManagement, 3) X(EnableGpuFirmware, 18) X(EnableGpuFirmwareLogs, 2) X(EnableDbgBreakpoint, 0) \
    X(OpenRmEnableUnsupportedGpus, 1) X(DmaRemapPeerMmio, 1)
#define WORDS(X) X(RegistryDwords) X(RegistryDwordsPerDevice) X(RmMsg) X(GpuBlacklist) X(TemporaryFilePath) X(ExcludedGpus)

#define NUMBER_PARAMETER(name, value) \
    static unsigned int NVreg_##name = value; module_param(NVreg_##name, uint, 0400);
#define WORD_PARAMETER(name) static char *NVreg_##name; module_param(NVreg_##name, charp, 0400);
NUMBERS(NUMBER_PARAMETER)
WORDS(WORD_PARAMETER)

static int show_version(struct seq_file *file, void *unused)
{
    seq_puts(file, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " STANDIN_VERSION
             "  Release Build  (tunecheck@lab)\n");
    seq_puts(file, "GCC version:  gcc version " __VERSION__ "\n");
    return 0;
}

static int show_params(struct seq_file *file, void *unused)
{
#define SHOW_NUMBER(name, value) seq_printf(file, "%s: %u\n", #name, NVreg_##name);
#define SHOW_WORD(name) seq_printf(file, "%s: \"%s\"\n", #name, NVreg_##name ? NVreg_##name : "");
    NUMBERS(SHOW_NUMBER)
    WORDS(SHOW_WORD)
    return 0;
}

static ssize_t device_read(struct file *file, char __user *to, size_t length, loff_t *at)
{
    static const char text[] = STANDIN_VERSION "\n";
    return simple_read_from_buffer(to, length, at, text, sizeof text - 1);
}

static const struct file_operations device = { .owner = THIS_MODULE, .read = device_read };

/* nvidia-uvm needs a symbol of nvidia, so that modprobe loads both. */
const char *nvidia_standin_version(void);
const char *nvidia_standin_version(void)
{
    return STANDIN_VERSION;
}
EXPORT_SYMBOL(nvidia_standin_version);

static int __init standin_init(void)
{
    struct proc_dir_entry *folder;
    int failed = register_chrdev(NV_MAJOR, "nvidia", &device);

    if (failed)
        return failed;
#ifdef STANDIN_MISMATCH
    /* The call of a driver older than the kernel: one argument short, whichever kernel (it has three, since
     * 6.12.117 four; NVIDIA's 550.163.01 stopped building there). */
    failed = pci_resize_resource(NULL, 0);
#endif
    folder = proc_mkdir_mode("driver/nvidia", 0555, NULL);
    proc_mkdir_mode("gpus", 0555, folder);
    proc_create_single("version", 0444, folder, show_version);
    proc_create_single("params", 0444, folder, show_params);
    pr_info("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  " STANDIN_VERSION " (tunecheck stand-in)\n");
    return 0;
}

static void __exit standin_exit(void)
{
    remove_proc_subtree("driver/nvidia", NULL);
    unregister_chrdev(NV_MAJOR, "nvidia");
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_DESCRIPTION("tunecheck lab stand-in, no GPU behind it");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(STANDIN_VERSION);
