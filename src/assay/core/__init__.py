"""The words that every layer speaks, and nothing that does I/O."""
