#!/bin/sh
# Inside the base tree: what the driver tests need. $1: the kernel's release; the rest: packages.
set -eu
release=$1
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
# The box reaches no mirror: apt there knows only what a test gives it.
mkdir -p /root/sources
mv /etc/apt/sources.list* /root/sources/
mkdir -p /etc/apt/sources.list.d
# Nobody looks at them and each costs seconds of a boot without KVM.
systemctl mask -q unattended-upgrades.service podman.socket podman-restart.service podman-auto-update.timer \
  podman-auto-update.service podman-clean-transient.service netavark-dhcp-proxy.service netavark-dhcp-proxy.socket
# depmod reads every module: 4 s for Debian's 4200 natively, over a minute without KVM; and DKMS runs it each time.
cd "/lib/modules/$release/kernel"
rm -rf sound drivers/gpu drivers/media drivers/infiniband drivers/staging drivers/iio drivers/usb drivers/hwmon \
  drivers/scsi drivers/net/ethernet drivers/net/wireless drivers/net/can drivers/net/phy drivers/net/usb drivers/hid \
  drivers/input drivers/mtd drivers/mmc drivers/rtc drivers/leds drivers/mfd drivers/power drivers/regulator \
  drivers/platform drivers/bluetooth drivers/isdn drivers/firewire drivers/comedi drivers/thunderbolt drivers/video \
  drivers/target drivers/nvme drivers/md drivers/ata drivers/accel drivers/crypto drivers/gpio drivers/i2c \
  drivers/spi drivers/w1 drivers/char/ipmi drivers/edac net/wireless net/mac80211 net/bluetooth \
  net/can net/sctp net/tipc net/rds net/ceph net/nfc net/batman-adv net/mptcp net/rxrpc \
  fs/nfs fs/nfsd fs/ocfs2 fs/btrfs fs/xfs fs/ceph fs/smb fs/gfs2 fs/f2fs fs/bcachefs fs/jfs fs/dlm fs/ubifs fs/afs
depmod "$release"
