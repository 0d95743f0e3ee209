"""The matrix of boot loaders and faults: does the box come back, on what was proven, by itself?"""
