"""What is changed of other people's code while a trace is open, and how it is put back: see intercept.py."""
