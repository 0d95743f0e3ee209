#!/bin/sh
# Turns a fresh Debian tree into the lab box. mmdebstrap runs it with the tree as $1; see recipe.py for LAB_*.
set -eu
R=$1

echo lab >"$R/etc/hostname"
printf '127.0.0.1 localhost lab\n' >"$R/etc/hosts"
: >"$R/etc/machine-id"
: >"$R/etc/resolv.conf"
mkdir -p "$R/boot/efi" "$R/boot/grub" "$R/etc/default/grub.d"
# The ESP is mounted by the sealing boot only: loading vfat costs a second of every boot without KVM.
cat >"$R/etc/fstab" <<F
UUID=$LAB_ROOT_UUID / ext4 defaults,noatime,errors=remount-ro 0 1
UUID=$LAB_ESP_UUID /boot/efi vfat umask=0077,noauto 0 2
F

# QEMU's user network is always 10.0.2.0/24: static addresses are far cheaper than networkd and DHCP without KVM.
# udev renames the interface while it settles; systemd starts this once it has its name. To look for it again and again
# took a fifth of a boot's processor time.
mkdir -p "$R/etc/systemd/network"
printf '[Match]\nMACAddress=%s\n[Link]\nName=lab0\n' "$LAB_MAC" >"$R/etc/systemd/network/10-lab.link"
cat >"$R/etc/systemd/system/lab-net.service" <<F
[Unit]
Description=lab network (static, QEMU user network)
DefaultDependencies=no
BindsTo=sys-subsystem-net-devices-lab0.device
After=sys-subsystem-net-devices-lab0.device local-fs.target
Before=network.target
Wants=network.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'ip link set lo up; ip link set lab0 up; ip addr add 10.0.2.15/24 dev lab0; ip route add default via 10.0.2.2'
[Install]
WantedBy=multi-user.target
F
chroot "$R" systemctl enable -q lab-net.service ssh.service 2>/dev/null
chroot "$R" systemctl set-default -q multi-user.target 2>/dev/null

# Everything a 20 s boot without KVM can do without and no test looks at.
chroot "$R" systemctl mask -q \
  systemd-networkd.service systemd-networkd.socket systemd-networkd-persistent-storage.service \
  systemd-network-generator.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount \
  systemd-random-seed.service systemd-journal-flush.service systemd-pcrphase.service systemd-hwdb-update.service \
  systemd-timesyncd.service systemd-firstboot.service sshd-keygen.service \
  modprobe@drm.service modprobe@efi_pstore.service modprobe@fuse.service modprobe@configfs.service \
  sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
  getty@tty1.service serial-getty@ttyS0.service \
  apt-daily.timer apt-daily-upgrade.timer man-db.timer e2scrub_all.timer fstrim.timer dpkg-db-backup.timer 2>/dev/null
# Hardware of the q35 board that no test looks at. `bochs`: the stand-in endpoints stay without a driver.
printf 'blacklist %s\n' iTCO_wdt lpc_ich i2c_i801 psmouse serio_raw pcspkr vga16fb evdev kvm_amd kvm_intel ccp \
  powernow_k8 vsock_loopback vmw_vsock_vmci_transport efi_pstore bochs >"$R/etc/modprobe.d/zz-lab-slim.conf"
printf 'MODULES=list\nCOMPRESS=lz4\n' >"$R/etc/initramfs-tools/conf.d/lab"
printf '%s\n' virtio_pci virtio_blk ext4 crc32c_generic >>"$R/etc/initramfs-tools/modules"
chroot "$R" update-initramfs -u

# Keys come at boot as credentials (access.py): the image holds no secret and can be shared.
chroot "$R" useradd -m -s /bin/bash -G sudo lab
chroot "$R" useradd -m -s /bin/bash nosudo
echo 'lab ALL=(ALL) NOPASSWD:ALL' >"$R/etc/sudoers.d/lab"
chmod 440 "$R/etc/sudoers.d/lab"
rm -f "$R"/etc/ssh/ssh_host_*
printf 'PasswordAuthentication no\nUseDNS no\nHostKey /etc/ssh/ssh_host_ed25519_key\n' >"$R/etc/ssh/sshd_config.d/lab.conf"

# The baseline lives in GRUB_CMDLINE_LINUX; _DEFAULT is empty, as that is where tunecheck's drop-in appends.
cat >"$R/etc/default/grub" <<F
GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_RECORDFAIL_TIMEOUT=0
GRUB_DISTRIBUTOR="Lab"
GRUB_CMDLINE_LINUX_DEFAULT=""
GRUB_CMDLINE_LINUX="$LAB_KERNEL panic=5"
GRUB_TERMINAL="serial"
GRUB_SERIAL_COMMAND="serial --unit=0 --speed=115200"
GRUB_DISABLE_OS_PROBER=true
F
# Ansible's modules are compiled once, not once a task.
install -m 644 "$LAB_BYTECODE" "$R/usr/lib/python3/dist-packages/lab_zip_bytecode.py"
echo 'import lab_zip_bytecode' >"$R/usr/lib/python3/dist-packages/lab_zip_bytecode.pth"
install -m 755 "$LAB_SEAL" "$R/root/seal.sh"
# systemd's caches are as new as what they were made of: without this, each first boot makes them again.
touch -r "$R/usr" "$R/etc/.updated" "$R/var/.updated"
