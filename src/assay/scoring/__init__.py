"""Judge x engine x voting x meta RM x cache: where pure judges meet engines, for one item or for a whole file.

Owns: deadlines within a judgment, deduplication, the verdict cache, result files that survive a kill, replays, the
flight recorder. Does not own: prompts and parsers (``judges``), what votes come to (``voting``), HTTP (``service``).
"""
