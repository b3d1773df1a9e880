"""What travels over HTTP and what flags say in the seeds' words: models, and the way to and from ``core``.

Owns: names, defaults and limits of fields. Does not own: routes (``service``), sending (``client``).
"""
