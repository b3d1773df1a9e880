"""The judge of the package on held-out items. See the package for what is measured.

    python -m benchmarks.shipped_judge.run fast --model FOLDER [--adapter FOLDER] --out fast.json    # on a card
    python -m benchmarks.shipped_judge.run engine --adapter FOLDER --out DIR                          # what users run
    python -m benchmarks.shipped_judge.run table fast.json DIR/engine.json

``fast`` compares trained models; ``engine`` gives the figures that are published: fp32 on the CPU, resumable.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import figures, sets
from .figures import answered, summary
from .sets import Measured

GSM8K = Path(__file__).parents[2] / "../shared/data/gsm8k/example_model_solutions.jsonl"


def verifier_sets(options: argparse.Namespace) -> dict[str, list[Measured]]:
    """The sets of single answers, by name."""
    found = {
        "iid": sets.verified("train", options.items),
        "held": sets.verified("held", options.items),
        "attacks": sets.attacks(options.attacks),
    }
    if options.gsm8k.exists():
        for name, whole in (("gsm8k whole", True), ("gsm8k final", False)):
            found[name] = list(sets.gsm8k(options.gsm8k, whole=whole))[: options.solutions]
    return found


def fast(options: argparse.Namespace) -> None:
    """Every set by the fast path."""
    from assay.judges.verifier import VerifierJudge

    from .fast import PLAIN, Fast
    from .pairs import measure_pairs

    model = Fast(options.model, options.adapter, tokens=options.tokens)
    results: dict[str, Any] = {}

    def keep(name: str, measured: Sequence[Measured], ask: Callable[[Sequence[Measured]], list[float | None]]) -> None:
        begun = time.perf_counter()
        results[name] = summary(answered(measured, ask(measured)))
        print(f"{name}: {json.dumps(results[name]['all'])} in {time.perf_counter() - begun:.1f} s", flush=True)

    for name, measured in verifier_sets(options).items():
        chinese = [one for one in measured if one.language == "zh"]
        if "verdict" in options.modes:
            keep(name, measured, lambda m: list(model.verdicts(VerifierJudge(), [one.item for one in m])))
            if chinese and name != "attacks":
                judge = VerifierJudge(language="zh")
                keep(f"{name}, zh prompt", chinese, lambda m, j=judge: list(model.verdicts(j, [one.item for one in m])))
        if "forms" in options.modes:
            judge = VerifierJudge(forms=True)

            def forms(m: Sequence[Measured], j: VerifierJudge = judge) -> list[float | None]:
                read = model.read(j, [one.item for one in m], [PLAIN] * len(m), new_tokens=96, batch=options.batch)
                return [None if one is None or one.scores is None else one.scores[0] for one in read]

            keep(f"{name}, forms", measured, forms)
    if "pointwise" in options.modes:
        results["pairs"] = measure_pairs(model, sets.pairs(options.pairs), batch=options.batch)
        print(f"pairs: {json.dumps(results['pairs'])}", flush=True)
    told = {"model": options.model, "adapter": str(options.adapter or ""), "results": results}
    options.out.write_text(json.dumps(told, indent=1))
    show(options.out)


def show(file: Path) -> None:
    """Tables of a result file, the weakest kinds and forms first."""
    results = json.loads(file.read_text())["results"]
    verified = {name: found for name, found in results.items() if "all" in found}
    console = Console(width=140)
    for part in ("all", "language", "kind"):
        table = Table(title=f"{file}: {part}")
        for heading in ("set", part, "n", "balanced", "TPR", "TNR", "no verdict"):
            table.add_column(heading, justify="left" if heading in ("set", part) else "right", no_wrap=True)
        for row in figures.lines(verified, part):
            if part == "all" or not row[0].startswith(("gsm8k", "attacks")):
                table.add_row(*row)
        console.print(table)
    for name in verified:
        weak = sorted(figures.lines({name: verified[name]}, "form"), key=lambda row: float(row[3]))[:12]
        console.print(f"{name}, weakest forms: " + "; ".join(f"{row[1]} {row[3]} ({row[2]})" for row in weak))
    for name, found in results.items():
        if "all" not in found:
            console.print(name, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("fast", "engine"):
        verb = verbs.add_parser(name)
        verb.add_argument("--model", default="smollm2-135m-instruct")
        verb.add_argument("--adapter", type=Path, default=None)
        verb.add_argument("--out", type=Path, required=True)
        verb.add_argument("--items", type=int, default=4000, help="of iid and of held")
        verb.add_argument("--attacks", type=int, default=20, help="questions of each attack")
        verb.add_argument("--gsm8k", type=Path, default=GSM8K)
        verb.add_argument("--solutions", type=int, default=None, help="only the first so many of GSM8K's")
        verb.add_argument("--pairs", type=int, default=1000)
        verb.add_argument("--modes", default="verdict,pointwise", help="verdict, forms, pointwise")
        verb.add_argument("--tokens", type=int, default=65536, help="fast: of one pass")
        verb.add_argument("--batch", type=int, default=512, help="fast: texts generated at a time")
    verbs.add_parser("table").add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    if options.verb == "table":
        for file in options.files:
            show(file)
        return
    options.modes = options.modes.split(",")
    if options.verb == "fast":
        fast(options)
    else:
        from .engine import engine

        engine(options, verifier_sets(options))


if __name__ == "__main__":
    main()
