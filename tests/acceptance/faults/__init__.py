"""Programs with a fault planted on one line, which carries the comment ``# planted``; a tool has to name that line."""
