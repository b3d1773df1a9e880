"""How well the judge of the package judges: held-out sets, a fast path on a card, and the engine that users run."""
