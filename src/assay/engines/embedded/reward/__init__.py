"""The embedded reward engine: a transformers model with a score head, in this process."""
