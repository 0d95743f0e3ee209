// SPDX-License-Identifier: MIT OR GPL-2.0
/* A stand-in for nvidia.ko where there is no GPU: a real kernel module with NVIDIA's name, version, parameters,
 * /proc/driver/nvidia and device major, and nothing behind them. Reading /dev/nvidiactl gives the version.
 *
 * With standin_boards=1 it is the driver of QEMU's bochs-display functions (1234:1111): each has a minor in address order,
 * a node and /proc/driver/nvidia/gpus/<address>. standin_swap=A,B says how often the board of each minor was replaced:
 * another number there is another UUID, at once.
 *
 * Formats: kernel-open/nvidia/nv-procfs.c and nv-frontend.c of open-gpu-kernel-modules 595. */
#include <linux/module.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/device.h>
#include <linux/pci.h>

#define NV_MAJOR 195
#define CONTROL_MINOR 255
#define BOARDS 8

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

static bool standin_boards;
module_param(standin_boards, bool, 0444);
MODULE_PARM_DESC(standin_boards, "Be the driver of 1234:1111");
static unsigned int standin_swap[BOARDS];
module_param_array(standin_swap, uint, NULL, 0644);
MODULE_PARM_DESC(standin_swap, "How often each board was replaced");

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

static struct pci_dev *boards[BOARDS];
static struct proc_dir_entry *gpus;
static char *writable(const struct device *unused, umode_t *mode)
{
    if (mode)
        *mode = 0666;
    return NULL;
}
static struct class nodes = { .name = "nvidia", .devnode = writable };

static int show_board(struct seq_file *file, void *unused)
{
    int minor = (int)(long)file->private;
    struct pci_dev *board = boards[minor];
    unsigned int place = pci_domain_nr(board->bus) << 16 | board->bus->number << 8 | board->devfn;

    seq_puts(file, "Model: \t\t tunecheck stand-in GPU\n");
    seq_printf(file, "IRQ:   \t\t %u\n", board->irq);
    seq_printf(file, "GPU UUID: \t GPU-%08x-0000-4000-8000-%012x\n", place, standin_swap[minor]);
    seq_puts(file, "Video BIOS: \t 00.00.00.00.00\n");
    seq_puts(file, "Bus Type: \t PCIe\n");
    seq_puts(file, "DMA Size: \t 47 bits\n");
    seq_puts(file, "DMA Mask: \t 0x7fffffffffff\n");
    seq_printf(file, "Bus Location: \t %s\n", pci_name(board));
    seq_printf(file, "Device Minor: \t %d\n", minor);
    seq_puts(file, "GPU Firmware: \t " STANDIN_VERSION "\n");
    seq_puts(file, "GPU Excluded:\t No\n");
    return 0;
}

static int take(struct pci_dev *board, const struct pci_device_id *unused)
{
    struct proc_dir_entry *folder;
    int minor;

    for (minor = 0; minor < BOARDS && boards[minor]; minor++)
        ;
    if (minor == BOARDS)
        return -ENOSPC;
    boards[minor] = board;
    folder = proc_mkdir_mode(pci_name(board), 0555, gpus);
    proc_create_single_data("information", 0444, folder, show_board, (void *)(long)minor);
    device_create(&nodes, &board->dev, MKDEV(NV_MAJOR, minor), NULL, "nvidia%d", minor);
    return 0;
}

static void leave(struct pci_dev *board)
{
    int minor;

    for (minor = 0; minor < BOARDS; minor++)
        if (boards[minor] == board) {
            device_destroy(&nodes, MKDEV(NV_MAJOR, minor));
            remove_proc_subtree(pci_name(board), gpus);
            boards[minor] = NULL;
        }
}

/* Not in the module's aliases: where nobody asks for it, it is not loaded. */
static const struct pci_device_id ids[] = { { PCI_DEVICE(0x1234, 0x1111) }, { } };
static struct pci_driver driver = { .name = "nvidia", .id_table = ids, .probe = take, .remove = leave };

static const struct file_operations device = { .owner = THIS_MODULE, .read = device_read };

/* nvidia-uvm needs symbols of nvidia, so that modprobe loads both. */
bool nvidia_standin_has_boards(void);
bool nvidia_standin_has_boards(void)
{
    return standin_boards;
}
EXPORT_SYMBOL(nvidia_standin_has_boards);

const char *nvidia_standin_version(void);
const char *nvidia_standin_version(void)
{
    return STANDIN_VERSION;
}
EXPORT_SYMBOL(nvidia_standin_version);

static void drop_nodes(void)
{
    device_destroy(&nodes, MKDEV(NV_MAJOR, CONTROL_MINOR));
    class_unregister(&nodes);
}

static void drop_files(void)
{
    remove_proc_subtree("driver/nvidia", NULL);
    unregister_chrdev(NV_MAJOR, "nvidia");
}

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
    gpus = proc_mkdir_mode("gpus", 0555, folder);
    proc_create_single("version", 0444, folder, show_version);
    proc_create_single("params", 0444, folder, show_params);
    if (standin_boards && !(failed = class_register(&nodes))) {
        device_create(&nodes, NULL, MKDEV(NV_MAJOR, CONTROL_MINOR), NULL, "nvidiactl");
        failed = pci_register_driver(&driver);
        if (failed)
            drop_nodes();
    }
    if (failed) {
        drop_files();
        return failed;
    }
    pr_info("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  " STANDIN_VERSION " (tunecheck stand-in)\n");
    return 0;
}

static void __exit standin_exit(void)
{
    if (standin_boards) {
        pci_unregister_driver(&driver);
        drop_nodes();
    }
    drop_files();
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_DESCRIPTION("tunecheck lab stand-in, no GPU behind it");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(STANDIN_VERSION);
