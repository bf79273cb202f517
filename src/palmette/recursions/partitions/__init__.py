"""Kernels over the clusters that can be taken first: all of them, in segments, or those of a partition trellis."""
