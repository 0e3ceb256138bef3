"""Modules and packages such as a user's model is spread over: see test_ways.py."""
