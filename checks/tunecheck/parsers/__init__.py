"""Parsers and writers of the host's own text and binary formats.

Pure functions over text and bytes: no I/O, standard library only, Python >= 3.9, relative imports only.
The same files serve the checker and, through ``module_utils``, the Ansible modules on the box.
"""
