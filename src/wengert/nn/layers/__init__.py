"""Layers: what networks are made of, as values without arrays. :mod:`~wengert.nn.layers.base` says what one is."""
