"""Chains over hierarchies: how they begin, move and are read; the files of `partitions` have the same names."""
