"""A model on a trellis: who calls the kernels, in which order, with how much memory and on how many threads."""
