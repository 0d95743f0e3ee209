#!/bin/sh
# Inside the base tree: what the drivers' layer has, and Debian's signed shim and GRUB on an ESP image made at
# /mnt/esp.img. $1: the kernel's release; the rest: packages. The kernel of the base tree is Debian's signed one.
set -eu
# The packages' own scripts would make a grub.cfg of this machine's disks; that of the sealing boot stays.
cp -a /boot/grub /root/grub
dpkg-divert --local --rename --divert /usr/sbin/update-grub.real --add /usr/sbin/update-grub
ln -s /bin/true /usr/sbin/update-grub
sh /mnt/drivers.sh "$@"
rm -r /boot/grub /usr/sbin/update-grub
mv /root/grub /boot/grub
dpkg-divert --local --rename --remove /usr/sbin/update-grub
# Where grub-install --uefi-secure-boot puts them, and at the path for removable disks, which a machine with fresh
# variables boots. GRUB's own image names EFI/debian; without fbx64.efi, shim starts GRUB at once.
esp=/tmp/esp/EFI
mkdir -p $esp/BOOT $esp/debian
shim=/usr/lib/shim grub=/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed
cp $shim/shimx64.efi.signed $esp/debian/shimx64.efi
cp $shim/mmx64.efi.signed $esp/debian/mmx64.efi
cp $grub $esp/debian/grubx64.efi
cp $esp/debian/*.efi $esp/BOOT/
mv $esp/BOOT/shimx64.efi $esp/BOOT/BOOTX64.EFI
cat >$esp/debian/grub.cfg <<F
search.fs_uuid $(sed -n 's/^UUID=\([^ ]*\) \/ .*/\1/p' /etc/fstab) root
set prefix=(\$root)'/boot/grub'
configfile \$prefix/grub.cfg
F
mcopy -s -i /mnt/esp.img $esp ::
