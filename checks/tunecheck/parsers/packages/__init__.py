"""What apt, dpkg, dnf and rpm print, and plans of which packages to install."""
