"""The sglang engine: SGLang servers that Assay launches, owns, puts to sleep, wakes and stops."""
