"""PCI devices, links, the ways between accelerators."""
