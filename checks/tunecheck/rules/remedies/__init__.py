"""How to put right what checks of several families find: the kernel command line, ACS and the IOMMU."""
