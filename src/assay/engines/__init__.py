"""Engines turn requests into completions. Each owns one outside system, reports its health, and knows no judge."""
