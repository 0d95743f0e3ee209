"""A host beside its like: who differs from most of its group, since when and by what, and where a group is split."""
