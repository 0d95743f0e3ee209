#!/bin/sh
# Inside the base tree: systemd-boot and kernel-install in GRUB's place, on an ESP image made at /mnt/esp.img. $1: the
# kernel's release; the rest: packages. GRUB's files stay, as on a box that was moved.
set -eu
release=$1
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
# The entries' names begin with it, so it can't be made at the first boot.
echo 1ab01ab01ab04ab08ab01ab01ab01ab0 >/etc/machine-id
# With patience: a busy machine without KVM needs minutes to tell of a partition.
sed -i 's/umask=0077,noauto/umask=0077,x-systemd.device-timeout=15min/' /etc/fstab
root=$(sed -n 's/^\(UUID=[^ ]*\) \/ .*/\1/p' /etc/fstab)
line=$(sed -n 's/^GRUB_CMDLINE_LINUX="\(.*\)"/\1/p' /etc/default/grub)
echo "root=$root ro $line" >/etc/kernel/cmdline
# A tmpfs stands for the ESP: only a running UEFI machine could tell that it is one.
mount -t tmpfs esp /boot/efi
export SYSTEMD_RELAX_ESP_CHECKS=1
bootctl --esp-path=/boot/efi --no-variables install
kernel-install --esp-path=/boot/efi --make-entry-directory=yes add "$release" "/boot/vmlinuz-$release"
ls /boot/efi/loader/entries/*.conf
mcopy -s -i /mnt/esp.img /boot/efi/* ::
