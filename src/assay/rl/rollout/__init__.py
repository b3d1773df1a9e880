"""Rollouts: prompts in, groups of samples out, each with tokens, log-probs, weight versions and its inline reward."""
