"""The rule engine: questions that a program answers exactly, in child processes that cannot harm the parent."""
