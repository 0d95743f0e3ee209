"""Images whose GRUB reads the root file system, with /boot, and cannot write it: btrfs, LVM, mdraid."""
