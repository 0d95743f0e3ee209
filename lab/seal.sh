#!/bin/sh
# The init of the image's first boot, and all that runs in it: installs GRUB where only a running kernel can.
# Success prints LAB-SEALED and powers off; a failure ends init, the kernel panics and QEMU ends (-no-reboot).
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec </dev/null >/dev/ttyS0 2>&1
set -eux
grub-install --target=i386-pc /dev/vda
mount /boot/efi
grub-install --target=x86_64-efi --efi-directory=/boot/efi --removable --no-nvram
umount /boot/efi
update-grub
rm -f /root/seal.sh
sync
# By sysrq: this script, deleted but still running, keeps an ordinary remount busy.
echo u >/proc/sysrq-trigger
sleep 1
echo LAB-SEALED
echo o >/proc/sysrq-trigger
sleep 60
