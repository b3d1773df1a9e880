"""What is built on torch models and is no engine: log-probs, losses, heads. No I/O, no judge, no distribution."""
