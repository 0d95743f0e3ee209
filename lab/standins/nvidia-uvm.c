// SPDX-License-Identifier: MIT OR GPL-2.0
/* A stand-in for nvidia-uvm.ko; its parameter as in uvm_hmm.c of open-gpu-kernel-modules 595. */
#include <linux/module.h>
#include <linux/fs.h>

const char *nvidia_standin_version(void);

static int uvm_disable_hmm;
module_param(uvm_disable_hmm, int, 0444);
MODULE_PARM_DESC(uvm_disable_hmm, "Force-disable HMM functionality in the UVM driver. Default: false (HMM is enabled)");

static const struct file_operations device = { .owner = THIS_MODULE };
static int major;

static int __init standin_init(void)
{
    major = register_chrdev(0, "nvidia-uvm", &device);
    if (major < 0)
        return major;
    pr_info("nvidia-uvm: loaded for %s, major device number %d (tunecheck stand-in)\n", nvidia_standin_version(), major);
    return 0;
}

static void __exit standin_exit(void)
{
    unregister_chrdev(major, "nvidia-uvm");
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_DESCRIPTION("tunecheck lab stand-in, no GPU behind it");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(STANDIN_VERSION);
