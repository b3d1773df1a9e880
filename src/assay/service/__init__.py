"""The judges over HTTP: a FastAPI app (``app``), its server (``server``), and its binding to Ray Serve (``ray``).

Owns: routes, admission, sleep and wake of instances, replies and their statuses. Does not own: the bodies (``wire``),
judging (``scoring``), engines.
"""
