"""Text and plain arrays: Newick, Nexus, files of many trees, linkage matrices."""
