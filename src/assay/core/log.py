"""Logging set-up: stdlib logging, one line an event, to stderr. Libraries log; only entry points call ``setup``."""

from __future__ import annotations

import logging


def setup(level: str = "INFO") -> None:
    """Send the log of Assay to stderr at ``level``; other libraries only from WARNING on."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True)
    logging.getLogger("assay").setLevel(level.upper())
