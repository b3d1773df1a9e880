"""Reads result rows and shows them: summaries, terminal tables, a self-contained HTML page. Never calls an engine."""
