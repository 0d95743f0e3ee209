#!/bin/sh
# Inside the base tree: the root file system comes to be on a mirror (volumes.py), which has the UUID below.
. /mnt/grub_reads.sh
echo 'ARRAY /dev/md0 metadata=1.2 UUID=1ab00001:aaaabbbb:ccccdddd:eeeeffff' >>/etc/mdadm/mdadm.conf
printf '%s\n' md_mod raid1 >>/etc/initramfs-tools/modules
finish mdraid1x ext2
