"""Kernels over splits of clusters: all, tabulated or listed; those of a sparse trellis; those of many problems."""
