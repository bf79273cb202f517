"""Chosen clusters and the paths of choices that partitions are."""
