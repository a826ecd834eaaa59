"""Sequence-to-sequence models that resolve references."""

__version__ = "0.1.0"
