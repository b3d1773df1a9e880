"""Many engines as one: routed, supervised, put to sleep and woken together, behind the engine protocols."""
