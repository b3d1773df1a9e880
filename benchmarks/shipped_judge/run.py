"""The judge of the package on held-out items. See the package for what is measured.

    python -m benchmarks.shipped_judge.run fast --model FOLDER [--adapter FOLDER] --out fast.json    # on a card
    python -m benchmarks.shipped_judge.run engine --adapter FOLDER --out DIR                          # what users run
    python -m benchmarks.shipped_judge.run rules                                  # what reads no model
    python -m benchmarks.shipped_judge.run table fast.json DIR/engine.json

``fast`` compares trained models; ``engine`` gives the figures that are published: fp32 on the CPU, resumable, with the
CPU seconds of a verdict. With ``--train`` the results say how many prompts of each set are among the rows trained on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import figures, sets
from .figures import answered, summary
from .leaks import leaks, trained_prompts
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
    wanted = options.sets or tuple(found)
    return {name: measured for name, measured in found.items() if name in wanted and measured}


def told(
    options: argparse.Namespace, found: Mapping[str, Sequence[Measured]], results: dict[str, Any]
) -> dict[str, Any]:
    """What is written of a run."""
    whole = {"model": options.model, "adapter": str(options.adapter or ""), "results": results}
    if options.train is None:
        return whole
    pairs = {"pairs": sets.pairs(options.pairs)} if "pointwise" in options.modes else {}
    return whole | {"leaks": leaks({**found, **pairs}, trained_prompts(options.train))}


def fast(options: argparse.Namespace) -> None:
    """Every set by the fast path."""
    from assay.judges.verifier import VerifierJudge

    from .fast import PLAIN, Fast
    from .pairs import measure_pairs

    model = Fast(options.model, options.adapter, batch=options.batch)
    verified = verifier_sets(options)
    results: dict[str, Any] = {}

    def keep(name: str, measured: Sequence[Measured], ask: Callable[[Sequence[Measured]], list[float | None]]) -> None:
        begun = time.perf_counter()
        results[name] = summary(answered(measured, ask(measured)))
        print(f"{name}: {json.dumps(results[name]['all'])} in {time.perf_counter() - begun:.1f} s", flush=True)

    for name, measured in verified.items():
        chinese = [one for one in measured if one.language == "zh"]
        if "verdict" in options.modes:
            keep(name, measured, lambda m: list(model.verdicts(VerifierJudge(), [one.item for one in m])))
            if chinese and name != "attacks":
                judge = VerifierJudge(language="zh")
                keep(f"{name}, zh prompt", chinese, lambda m, j=judge: list(model.verdicts(j, [one.item for one in m])))
        for mode in [mode for mode in options.modes if mode in ("written", "forms")]:
            judge = VerifierJudge(forms=mode == "forms")

            def written(m: Sequence[Measured], j: VerifierJudge = judge) -> list[float | None]:
                read = model.read(j, [one.item for one in m], [PLAIN] * len(m), new_tokens=128)
                return [None if one is None or one.scores is None else one.scores[0] for one in read]

            keep(f"{name}, {mode}", measured, written)
    if "pointwise" in options.modes:
        results["pairs"] = measure_pairs(model, sets.pairs(options.pairs))
        print(f"pairs: {json.dumps(results['pairs'])}", flush=True)
    options.out.write_text(json.dumps(told(options, verified, results), indent=1))
    show(options.out)


def rules(options: argparse.Namespace) -> None:
    """How often exact match, math-verify, the judge ``math`` and the rule as it is asked first call answers equal."""
    from .rules import groups, said_equal

    wrong = {"hedges": sets.hedges(options.hedges), "attacks": sets.attacks(options.attacks)}
    table = Table(title="answers called equal, %")
    for heading in ("answers", "n", "exact match", "math-verify", "judge math", "rule first", "no answer"):
        table.add_column(heading, justify="left" if heading == "answers" else "right", no_wrap=True)
    found: dict[str, Any] = {}
    for name, measured in groups(sets.verified("held", options.items), wrong).items():
        if measured:
            found[name] = said_equal(measured)
            shares = [
                f"{100 * found[name][key] / len(measured):.2f}" for key in ("exact", "math-verify", "math", "first")
            ]
            table.add_row(name, str(len(measured)), *shares, str(found[name]["no_answer"]))
    Console(width=140).print(table)
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=1))


def show(file: Path) -> None:
    """Tables of a result file, the weakest kinds and forms first."""
    read = json.loads(file.read_text())
    results = read["results"]
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
    for name in [name for name in verified if ":" not in name]:
        weak = sorted(figures.lines({name: verified[name]}, "form"), key=lambda row: float(row[3]))[:12]
        console.print(f"{name}, weakest forms: " + "; ".join(f"{row[1]} {row[3]} ({row[2]})" for row in weak))
    for name, found in results.items():
        if "all" not in found:
            console.print(name, found)
        elif found.get("cpu_s_per_verdict") is not None:
            console.print(f"{name}: {found['cpu_s_per_verdict']:.3f} CPU s a verdict")
    if "leaks" in read:
        console.print("prompts among the rows trained on:", read["leaks"])


def main() -> None:
    options = _parser().parse_args()
    match options.verb:
        case "table":
            for file in options.files:
                show(file)
        case "rules":
            rules(options)
        case "fast":
            fast(options)
        case "card":
            from .card import write

            write(options.folder, options.files)
        case _:
            from .engine import engine

            verified = verifier_sets(options)
            results = engine(options, verified)
            file = options.out / "engine.json"
            file.write_text(json.dumps(told(options, verified, results), indent=1))
            show(file)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("fast", "engine"):
        verb = verbs.add_parser(name)
        verb.add_argument("--model", default="smollm2-135m-instruct")
        verb.add_argument("--adapter", type=Path, default=None)
        verb.add_argument("--out", type=Path, required=True)
        _sizes(verb)
        verb.add_argument("--gsm8k", type=Path, default=GSM8K)
        verb.add_argument("--solutions", type=int, default=None, help="only the first so many of GSM8K's")
        verb.add_argument("--pairs", type=int, default=1000)
        verb.add_argument("--sets", type=_listed, default=(), help="only these: iid, held, attacks, gsm8k whole, ...")
        verb.add_argument(
            "--modes", type=_listed, default=("written", "pointwise"), help="verdict, written, forms, pointwise"
        )
        verb.add_argument("--train", type=Path, default=None, help="rows trained on; count the prompts among them")
        if name == "fast":
            verb.add_argument("--batch", type=int, default=2048, help="texts at a time")
        else:
            verb.add_argument("--base", type=int, default=400, help="items that the base model is asked about, too")
            verb.add_argument("--threads", type=int, default=None, help="of the engine")
            verb.add_argument("--max-batch", type=int, default=32, help="of the engine")
    rule = verbs.add_parser("rules")
    _sizes(rule)
    rule.add_argument("--hedges", type=int, default=1000)
    rule.add_argument("--out", type=Path, default=None)
    verbs.add_parser("table").add_argument("files", nargs="+", type=Path)
    card = verbs.add_parser("card")
    card.add_argument("folder", type=Path, help="of the adapter, with its card.json")
    card.add_argument("files", nargs="+", type=Path, help="engine.json, as engine wrote it; a later one wins")
    return parser


def _sizes(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--items", type=int, default=4000, help="of iid and of held")
    verb.add_argument("--attacks", type=int, default=20, help="questions of each attack")


def _listed(said: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in said.split(","))


if __name__ == "__main__":
    main()
