"""Error triage: why was a judge wrong? Wrong cases of a run for a person to label, and what the labels say."""
