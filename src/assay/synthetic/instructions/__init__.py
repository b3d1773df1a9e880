"""Instructions whose keeping a checker decides: counts, formats, wording, edges, letter case, JSON, order."""
