"""Stands in for SGLang: the same command line and the same HTTP, no GPU. See ``tests/engines/sglang/double.py``."""
