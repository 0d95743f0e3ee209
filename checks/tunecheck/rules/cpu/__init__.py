"""Checks of processors, NUMA nodes, memory policy, clock."""
