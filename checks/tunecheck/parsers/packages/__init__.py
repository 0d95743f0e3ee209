"""What apt, dpkg, dnf and rpm print, and the plans of packages made of it."""
