"""The monitor: whether the judge is still the judge it was, and whether the policy games it, while training runs."""
