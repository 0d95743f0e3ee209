"""The throwaway lab box: a virtual machine with a real kernel, a real GRUB and an emulated PCIe tree.

Standard library only, so that it works before anything is installed: `python3 -m lab --help`.
"""
