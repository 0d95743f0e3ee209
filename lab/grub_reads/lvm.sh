#!/bin/sh
# Inside the base tree: the root file system comes to be on a logical volume (volumes.py).
. /mnt/grub_reads.sh
sed -i 's/^UUID=[^ ]* \/ /\/dev\/mapper\/lab-root \/ /' /etc/fstab
echo dm_mod >>/etc/initramfs-tools/modules
# What update-grub would write; it is run again in the first boot, which knows its disks.
sed -i "s/root=UUID=$root/root=\/dev\/mapper\/lab-root/" /boot/grub/grub.cfg
finish lvm ext2
