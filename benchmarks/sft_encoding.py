"""Rows a second that one process encodes for ``assay sft``, by phase; and what the process costs that feeds the others.

    python benchmarks/sft_encoding.py [--rows 3000]

Rows of the verifier on generated items, in two languages. "whole": the same texts through the tokenizer as they are,
not by their lines and words; the ids are compared. CPU time of this process, so that other work on the machine does
not count.
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from assay.core.types import ChatPrompt, Draw
from assay.data import open_parts
from assay.judges import build_judge
from assay.synthetic.kinds import kinds_named
from assay.synthetic.oracle import completions
from assay.synthetic.stream import Plan, stream
from assay.training.config import TuningConfig
from assay.training.sft.config import SftConfig
from assay.training.sft.lines import LineTokenizer
from assay.training.sft.openings import openings
from assay.training.sft.reading import EncoderSettings
from assay.training.sft.rows import SftRow, part_rows
from assay.training.source import open_source_model

T = TypeVar("T")


class Phases:
    """Seconds of CPU by phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], T]) -> T:
        begun = time.process_time()
        done = work()
        self.seconds[name] = time.process_time() - begun
        return done


def written(count: int) -> Iterator[str]:
    """Lines as ``assay data generate --judge verifier --shape single`` writes them."""
    judges = {language: build_judge("verifier", language=language) for language in ("en", "zh")}
    draw = Draw(vote=0, seed=0, order=(0,))
    for one in stream(Plan(kinds=kinds_named(["answers"]), shapes=("single",)), 0, count):
        judge = judges[one.language]
        prompt = judge.plan(one.item, draw)[0].prompt
        assert isinstance(prompt, ChatPrompt)
        turns = [{"role": turn.role, "content": turn.text} for turn in prompt.messages]
        yield json.dumps({"prompt_messages": turns, "completion": completions(one, judge, draw)[0]}) + "\n"


def rendered(tokenizer: Any, row: SftRow) -> tuple[str, str]:
    """What is tokenized of a row: the prompt, and the answer behind a line break."""
    assert not isinstance(row.prompt, str)
    turns = [{"role": turn.role, "content": turn.text} for turn in row.prompt]
    prompt = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    answer = {"role": "assistant", "content": row.completion}
    both = tokenizer.apply_chat_template([*turns, answer], tokenize=False)
    return prompt, "\n" + both[len(prompt) :]


def measured(file: Path) -> tuple[Phases, Phases, int]:
    """One row at a time, in a process that encodes; then in the one that feeds it."""
    config = SftConfig(data=str(file), eval_share=0.01)
    settings = EncoderSettings.of(config)
    encoder = settings.make()
    tokenizer = open_source_model(TuningConfig(hf_checkpoint=config.hf_checkpoint)).tokenizer
    lines = LineTokenizer(tokenizer)
    own, feeding = Phases(), Phases()

    parts = feeding.time("lines of the file", lambda: list(open_parts(file)))
    feeding.time("sent", lambda: [pickle.dumps(part) for part in parts])
    rows = own.time("parse and check", lambda: [row for part in parts for row in part_rows(part, str(file))])
    texts = own.time("render", lambda: [text for row in rows for text in rendered(tokenizer, row)])
    cut = own.time("tokenize", lambda: [lines.ids(text) for text in texts])
    whole = own.time("tokenize whole", lambda: [tuple(ids_of(tokenizer, text)) for text in texts])
    assert cut == whole
    done = own.time("all of Encoder.encode", lambda: [encoder.encode(row) for row in rows])
    own.time("held out or not", lambda: [settings.holds_out(row) for row in done])
    sent = pickle.dumps(done)
    feeding.time("taken back", lambda: pickle.loads(sent))
    feeding.time("openings", lambda: openings([row.ids for row in done]))
    return own, feeding, len(rows)


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        file.write_text("".join(written(options.rows)))
        own, feeding, count = measured(file)
    phases = own.seconds
    table = Table(title="microseconds a row")
    for heading in ("process", "phase", "µs"):
        table.add_column(heading, justify="right" if heading == "µs" else "left")
    for name, one in (("encodes", own), ("feeds", feeding)):
        for phase, seconds in one.seconds.items():
            table.add_row(name, phase, f"{1e6 * seconds / count:,.1f}")
    Console().print(table)
    row = phases["parse and check"] + phases["all of Encoder.encode"] + phases["held out or not"]
    before = row + phases["tokenize whole"] - phases["tokenize"]
    print(f"{count / row:,.0f} rows/s by one process; {count / before:,.0f} with texts tokenized whole")
    print(f"{count / sum(feeding.seconds.values()):,.0f} rows/s is the most that one process feeds")


if __name__ == "__main__":
    main()
