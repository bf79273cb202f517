"""Chosen clusters and the splits between them: as observed in hierarchies, closed, or given."""
