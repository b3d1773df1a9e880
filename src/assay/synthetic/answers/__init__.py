"""Kinds of final answers: one value in many surface forms, its near misses, and the rule that tells them apart."""
