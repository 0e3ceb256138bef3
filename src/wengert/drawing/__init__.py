"""Draw nodes and edges: ``layout`` says where they stand, ``svg`` writes the picture.

What the nodes are is the caller's affair, who says what each box shows and which others it reads: graphs are drawn so,
and anything else that has steps.
"""

from wengert.drawing.svg import Box, picture

__all__ = ["Box", "picture"]
