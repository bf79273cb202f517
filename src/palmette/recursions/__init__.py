"""Kernels: sums, maxima, probabilities and draws over plain arrays, of which `passes` knows what they are."""
