#!/bin/sh
# Inside the base tree: what the demo serves with. $1: the kernel's release; the rest: packages. /mnt: engine.py's folder,
# with standin_gpus.py's in it.
set -eu
release=$1
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
# The stand-in GPUs, compiled for this kernel in a copy of the tree that is thrown away, and the compiler with it.
mkdir /tmp/upper /tmp/scratch /tmp/tree
mount -t overlay overlay -o lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/scratch /tmp/tree
for name in proc dev; do mount --rbind "/$name" "/tmp/tree/$name"; done
cat /etc/resolv.conf >/tmp/tree/etc/resolv.conf
cp -r /mnt/gpus /tmp/tree/root/gpus
chroot /tmp/tree sh -euc '
  apt-get install -y -o APT::Install-Recommends=false gcc libc6-dev make "linux-headers-$1"
  cd /root/gpus
  make -s KERNEL_UNAME="$1" modules
  sh libraries.sh' sh "$release"
built=/tmp/tree/root/gpus libraries=usr/lib/x86_64-linux-gnu
install -D -m 644 -t "/lib/modules/$release/updates" "$built/nvidia.ko" "$built/nvidia-uvm.ko"
depmod "$release"
install -m 644 -t "/$libraries" "$built"/lib*.so.*.*
ldconfig
cp -r /mnt/gpus/root/. /
systemctl enable -q nvidia-cdi-refresh.service
# NCCL is the image's own, the driver's libraries come from the box.
install -D -m 644 -t "/tmp/nccl/$libraries" "$built"/libnccl.so.*
ln -s "$(basename "$built"/libnccl.so.*)" "/tmp/nccl/$libraries/libnccl.so.2"
# Files and not their folder: podman takes no archive that has a path twice.
(cd /tmp/nccl && tar --numeric-owner --owner=0 --group=0 -rf /mnt/engine.tar "./$libraries"/*)
apt-get clean
rm -rf /var/lib/apt/lists/*
# Nobody looks at them and each costs seconds of a boot without KVM.
systemctl mask -q podman.socket podman-restart.service podman-auto-update.timer podman-auto-update.service \
  podman-clean-transient.service netavark-dhcp-proxy.service netavark-dhcp-proxy.socket
# podman looks for its control groups.
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# A storage of its own, thrown away: the box loads the archive, as a box without a registry does.
podman() { command podman --root /tmp/storage --runroot /run/storage --storage-driver vfs "$@"; }
podman import --quiet /mnt/engine.tar localhost/tunecheck/lab-tiny:1
mkdir -p /srv/images "/srv/models/tunecheck--lab-tiny/$(cat /mnt/revision)"
podman save --quiet --uncompressed --format oci-archive --output /srv/images/lab-tiny.tar localhost/tunecheck/lab-tiny:1
podman image inspect --format '{{.Id}}' localhost/tunecheck/lab-tiny:1 >/mnt/image-id
cp /mnt/tiny.gguf "/srv/models/tunecheck--lab-tiny/$(cat /mnt/revision)/"
