"""The parts of a run that live in this process: the trainer in a thread, engines beside it. No torch at import."""
