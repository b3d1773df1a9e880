"""Assay over a real SGLang on one GPU: ``python run.py life|load``. Each takes at most nine minutes; see README.md."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from life import Life
from load import load
from notes import Notes

from assay.core.log import setup
from judges import add_options


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("what", choices=("life", "load"))
    parser.add_argument("--model", required=True, help="folder of the judge; in life: of quality")
    parser.add_argument("--other", help="life: folder of the judge of safety, a model other than the first")
    parser.add_argument("--share", type=float, default=0.3, help="life: of the card, for each judge")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--per-place", type=int, default=8, help="load: requests of a round, times the concurrency")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-new-tokens", type=int, default=32)
    parser.add_argument("--limit-s", type=float, default=200, help="load: most seconds at one concurrency")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    options = parser.parse_args()
    if options.what == "life" and options.other is None:
        parser.error("life needs --other, the second judge")
    setup()
    notes = Notes(options.out, options.what)
    try:
        asyncio.run(Life(options, notes).run() if options.what == "life" else load(options, notes))
    finally:
        notes.write()
        notes.table()


if __name__ == "__main__":
    main()
