"""Assay: serve, scale, train and measure generative reward models."""

__version__ = "0.1.0"
