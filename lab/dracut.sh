#!/bin/sh
# Inside the base tree: dracut in the place of initramfs-tools, of which apt leaves the core (mkinitramfs, lsinitramfs).
# $1: the kernel's release; the rest: packages.
set -eu
release=$1
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
# What the base image's initramfs has, too: nothing is asked of the machine on which it is made.
cat >/etc/dracut.conf.d/lab.conf <<'F'
hostonly="no"
drivers="virtio_pci virtio_blk ext4 crc32c_generic"
filesystems="ext4"
compress="lz4"
do_strip="no"
early_microcode="no"
omit_dracutmodules+=" plymouth network nfs lvm mdraid dm crypt multipath "
F
dracut --force "/boot/initrd.img-$release" "$release"
lsinitrd "/boot/initrd.img-$release" | grep -q virtio_blk.ko
