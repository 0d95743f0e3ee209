"""The owned part of the kernel command line: what the box shows of it (situation), what somebody else set against it
(against), and the steps from a staged trial to a committed one. The module kernel_cmdline puts them together."""
