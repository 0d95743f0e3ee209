"""Remedies that checks of several families give: for the kernel command line, ACS and the IOMMU."""
