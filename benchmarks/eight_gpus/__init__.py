"""The seeds' layouts on four or eight cards of one machine: each runs some steps, and one table compares them."""
