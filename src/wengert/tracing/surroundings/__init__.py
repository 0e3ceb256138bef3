"""This package finds what a function reads beside its arguments, and how a program of it is kept fresh."""
