#!/bin/sh
# Inside the base tree: the root file system becomes btrfs, which GRUB reads and cannot write, behind UEFI alone, on an
# ESP image made at /mnt/esp.img. $1: the kernel's release; the rest: packages.
set -eu
release=$1
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
sed -i 's/^\(UUID=[^ ]* \/\) ext4 .*/\1 btrfs defaults,noatime 0 0/; s/umask=0077,noauto/umask=0077,x-systemd.device-timeout=15min/' /etc/fstab
echo btrfs >>/etc/initramfs-tools/modules
update-initramfs -u -k "$release"
root=$(sed -n 's/^UUID=\([^ ]*\) \/ .*/\1/p' /etc/fstab)
# The GRUB of the base image has no btrfs. grub-install would ask this machine's disks, so its image is made here.
cat >/tmp/early.cfg <<F
search.fs_uuid $root root
set prefix=(\$root)/boot/grub
F
mkdir -p /tmp/esp/EFI/BOOT
grub-mkimage -O x86_64-efi -o /tmp/esp/EFI/BOOT/BOOTX64.EFI -p /boot/grub -c /tmp/early.cfg \
  part_gpt btrfs fat search search_fs_uuid normal configfile linux serial
# What update-grub would write for this file system; it is run again in the first boot, which knows its disks.
sed -i 's/insmod ext2/insmod btrfs/' /boot/grub/grub.cfg
mcopy -s -i /mnt/esp.img /tmp/esp/EFI ::
