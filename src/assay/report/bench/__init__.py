"""Reports of benchmark runs: one run, several side by side, two compared. Reads result files only."""
