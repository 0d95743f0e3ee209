"""What lspci, sysfs and the kernel print of PCI and PCI Express."""
