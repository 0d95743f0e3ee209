#!/bin/sh
# Inside the base tree: boot partitions as proxmox-boot-tool keeps them, with systemd-boot, on an ESP image made at
# /mnt/esp.img. Nobody mounts it but the tool, for which /mnt/proxmox-boot-tool stands in. $1: the kernel's release; the rest:
# packages. GRUB's files stay, as on Proxmox, and boot nothing.
set -eu
release=$1
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
root=$(sed -n 's/^\(UUID=[^ ]*\) \/ .*/\1/p' /etc/fstab)
esp=$(sed -n 's/^UUID=\([^ ]*\) \/boot\/efi .*/\1/p' /etc/fstab)
line=$(sed -n 's/^GRUB_CMDLINE_LINUX="\(.*\)"/\1/p' /etc/default/grub)
sed -i '/ \/boot\/efi /d' /etc/fstab
mkdir -p /etc/kernel/postinst.d /etc/initramfs/post-update.d
echo "root=$root ro $line" >/etc/kernel/cmdline
echo "$esp" >/etc/kernel/proxmox-boot-uuids
# The running kernel is Debian's here, and an image is made while none runs.
echo "$release" >/etc/kernel/proxmox-boot-manual-kernels
install -m 0755 /mnt/proxmox-boot-tool /usr/sbin/proxmox-boot-tool
for hook in /etc/kernel/postinst.d/zz-proxmox-boot /etc/initramfs/post-update.d/proxmox-boot-sync; do
	printf '#!/bin/sh\nexec /usr/sbin/proxmox-boot-tool refresh\n' >"$hook"
	chmod +x "$hook"
done
# A tmpfs stands for the ESP: only a running UEFI machine could tell that it is one.
mount -t tmpfs esp /boot/efi
export SYSTEMD_RELAX_ESP_CHECKS=1
bootctl --esp-path=/boot/efi --no-variables install
# What Debian's package of systemd-boot made for kernel-install is not there on Proxmox, where the tool turns its hooks off.
rm -rf /boot/efi/loader/entries/*.conf
chmod -x /etc/kernel/postinst.d/zz-systemd-boot /etc/initramfs/post-update.d/systemd-boot 2>/dev/null || true
LAB_ESP=/boot/efi /usr/sbin/proxmox-boot-tool refresh
ls /boot/efi/loader/entries/*.conf
mcopy -s -i /mnt/esp.img /boot/efi/* ::
