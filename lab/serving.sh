#!/bin/sh
# Inside the base tree: what the demo serves with. $1: the kernel's release; the rest: packages. /mnt: engine.py's folder.
set -eu
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
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
