"""Other people's code is changed here while a trace is open, and put back: see intercept.py."""
