#!/bin/sh
# Inside the base tree: what Ubuntu's GRUB does that Debian's does not. Debian's scripts hold Ubuntu's quick boot, turned
# off (grub2 2.12-9, 00_header and 10_linux); the order of flavours is Ubuntu's alone. $1: the kernel's release.
set -eu
release=$1

# recordfail: an entry leaves a mark in grubenv that a boot that ends well takes away; with it the menu waits 30 s.
for script in /etc/grub.d/00_header /etc/grub.d/10_linux; do
  grep -q '^quick_boot="0"$' $script
  sed -i 's/^quick_boot="0"$/quick_boot="1"/' $script
done
# The menu is hidden, and nothing says how long a failed boot waits.
sed -i '/^GRUB_RECORDFAIL_TIMEOUT=/d' /etc/default/grub
echo 'GRUB_TIMEOUT_STYLE=hidden' >>/etc/default/grub
# The drop-in of cloud images overwrites what /etc/default/grub says.
cat >/etc/default/grub.d/50-cloudimg-settings.cfg <<'F'
GRUB_TIMEOUT=0
GRUB_CMDLINE_LINUX_DEFAULT="console=tty1 console=ttyS0"
F
# Kernels of the named flavours come first, whatever their versions. The newest here has another one, and does not boot.
echo 'GRUB_FLAVOUR_ORDER="amd64"' >/etc/default/grub.d/10-flavour.cfg
cat >/tmp/flavours <<'F'
for flavour in ${GRUB_FLAVOUR_ORDER}; do
  first= last=
  for linux in ${reverse_sorted_list}; do
    case $linux in *-"$flavour") first="$first $linux" ;; *) last="$last $linux" ;; esac
  done
  reverse_sorted_list="$first $last"
done
F
sed -i '/^reverse_sorted_list=.*version_sort/r /tmp/flavours' /etc/grub.d/10_linux
grep -q GRUB_FLAVOUR_ORDER /etc/grub.d/10_linux
# grub-mkconfig hands on what it knows; Ubuntu's knows this one.
sed -i 's/^  GRUB_DISABLE_SUBMENU /&GRUB_FLAVOUR_ORDER /' /usr/sbin/grub-mkconfig
grep -q GRUB_FLAVOUR_ORDER /usr/sbin/grub-mkconfig
head -c 4096 "/boot/vmlinuz-$release" >/boot/vmlinuz-99.0.0-1-lowlatency
cp "/boot/initrd.img-$release" /boot/initrd.img-99.0.0-1-lowlatency
