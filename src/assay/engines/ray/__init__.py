"""Engines as Ray actors in one placement group, shared by every ingress replica of a service."""
