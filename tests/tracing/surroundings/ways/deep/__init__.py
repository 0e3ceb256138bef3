"""A package in the package."""

from tests.tracing.surroundings.ways.deep.inner import GAIN, amplify

__all__ = ["GAIN", "amplify"]
