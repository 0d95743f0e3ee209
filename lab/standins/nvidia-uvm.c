// SPDX-License-Identifier: MIT OR GPL-2.0
/* A stand-in for nvidia-uvm.ko; its parameter as in uvm_hmm.c of open-gpu-kernel-modules 595. */
#include <linux/module.h>
#include <linux/fs.h>
#include <linux/device.h>

const char *nvidia_standin_version(void);
bool nvidia_standin_has_boards(void);

static int uvm_disable_hmm;
module_param(uvm_disable_hmm, int, 0444);
MODULE_PARM_DESC(uvm_disable_hmm, "Force-disable HMM functionality in the UVM driver. Default: false (HMM is enabled)");

static const struct file_operations device = { .owner = THIS_MODULE };
static int major;

/* With boards its node appears by itself; else nvidia-modprobe makes it. */
static char *writable(const struct device *unused, umode_t *mode)
{
    if (mode)
        *mode = 0666;
    return NULL;
}
static struct class nodes = { .name = "nvidia-uvm", .devnode = writable };
static bool noded;

static int __init standin_init(void)
{
    major = register_chrdev(0, "nvidia-uvm", &device);
    if (major < 0)
        return major;
    noded = nvidia_standin_has_boards() && !class_register(&nodes);
    if (noded)
        device_create(&nodes, NULL, MKDEV(major, 0), NULL, "nvidia-uvm");
    pr_info("nvidia-uvm: loaded for %s, major device number %d (tunecheck stand-in)\n", nvidia_standin_version(), major);
    return 0;
}

static void __exit standin_exit(void)
{
    if (noded) {
        device_destroy(&nodes, MKDEV(major, 0));
        class_unregister(&nodes);
    }
    unregister_chrdev(major, "nvidia-uvm");
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_DESCRIPTION("tunecheck lab stand-in, no GPU behind it");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(STANDIN_VERSION);
