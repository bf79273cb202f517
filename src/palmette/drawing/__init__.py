"""Where things stand in a picture, and SVG, from plain arrays."""
