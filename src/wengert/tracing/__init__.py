"""From the user's NumPy function to a tape."""
