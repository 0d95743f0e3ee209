# In namespaces of its own: a file system made of this machine's /usr, and systemd as its first process.
# boot.sh ROOT SHARED...: SHARED are folders that stay where they are, read-only.
set -e
R=$1
shift
mount --bind "$R" "$R"
mount --rbind /usr "$R/usr"
mount -o remount,bind,ro "$R/usr"
mount -t proc proc "$R/proc"
mount -t sysfs sysfs "$R/sys"
mount -t tmpfs tmpfs "$R/run"
mount -t tmpfs tmpfs "$R/tmp"
mount -t tmpfs -o mode=755 tmpfs "$R/dev"
for name in null zero full random urandom tty; do
    mknod -m 666 "$R/dev/$name" c "0x$(stat -c %t /dev/$name)" "0x$(stat -c %T /dev/$name)"
done
mkdir "$R/dev/pts" "$R/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$R/dev/pts"
ln -s pts/ptmx "$R/dev/ptmx"
mount -t tmpfs tmpfs "$R/dev/shm"
for folder in "$@"; do
    mkdir -p "$R$folder"
    mount --bind "$folder" "$R$folder"
    mount -o remount,bind,ro "$R$folder"
done
mount --bind "$R/opt/podman" "$R/usr/bin/podman"
# Of version 2 only, as on every distribution in question, whatever this machine has.
mount -t cgroup2 cgroup2 "$R/sys/fs/cgroup"
ip link set lo up
cd "$R"
mkdir -p old
pivot_root . old
umount -l /old
exec env -i container=tunecheck PATH=/usr/sbin:/usr/bin /usr/lib/systemd/systemd --unit=box.target < /dev/null
