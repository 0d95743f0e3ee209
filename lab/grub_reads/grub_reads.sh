# Sourced inside the base tree by the scripts of images whose GRUB reads the root file system, with /boot, and cannot
# write it: for UEFI on an ESP image made at /mnt/esp.img, for BIOS /mnt/core.img. $1: the kernel's release; the rest:
# packages.
set -eu
release=$1
shift
apt-get -o Acquire::Retries=3 update
apt-get install -y -o APT::Install-Recommends=false "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
root=$(sed -n 's/^UUID=\([^ ]*\) \/ .*/\1/p' /etc/fstab)
sed -i 's/umask=0077,noauto/umask=0077,x-systemd.device-timeout=15min/' /etc/fstab

# The last step. $@: GRUB's modules that read the root file system.
finish() {
  update-initramfs -u -k "$release"
  # The GRUB of the base image lacks them. grub-install would ask this machine's disks, so its images are made here.
  cat >/tmp/early.cfg <<F
search.fs_uuid $root root
set prefix=(\$root)/boot/grub
F
  mkdir -p /tmp/esp/EFI/BOOT
  set -- -p /boot/grub -c /tmp/early.cfg part_gpt "$@" fat search search_fs_uuid normal configfile linux serial
  grub-mkimage -O x86_64-efi -o /tmp/esp/EFI/BOOT/BOOTX64.EFI "$@"
  grub-mkimage -O i386-pc -o /mnt/core.img "$@" biosdisk
  mcopy -s -i /mnt/esp.img /tmp/esp/EFI ::
}
