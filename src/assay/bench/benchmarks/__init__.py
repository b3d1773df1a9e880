"""One file a benchmark: where its records come from, what is gold, what a case is worth and how cases add up."""
