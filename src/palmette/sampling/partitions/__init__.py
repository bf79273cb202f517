"""Chains over partitions: how they begin, move and are read; the files of `hierarchies` have the same names."""
