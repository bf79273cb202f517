"""Clusterings drawn by Markov chains, and how far to trust them."""
