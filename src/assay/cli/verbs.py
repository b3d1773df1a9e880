"""The verbs of the command line. Each is imported when it is called, so that ``assay --help`` imports none of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from .declare import verb
from .help import HelpfulCommand


@dataclass(frozen=True, slots=True)
class Verb:
    """``flags`` and ``run`` are named as ``module:name`` of this package. ``about``: the first line of its help.

    ``panels``: the name, beside the flags, of the headings of its help. ``recipe``: the flag of a file with flags.
    ``run``: empty for a verb that has verbs of its own; ``flags`` then names its ``typer.Typer``.
    """

    flags: str
    run: str
    about: str
    panels: str | None = None
    recipe: str | None = None


VERBS: dict[str, Verb] = {
    "serve": Verb(
        "serve:ServeFlags",
        "serve:serve",
        "Serve judges over HTTP: /generate, /score, /v1/chat/completions, /health, /metrics.",
        panels="SERVE_PANELS",
    ),
    "judge": Verb(
        "judge:JudgeFlags",
        "judge_run:judge",
        "Judge the candidates in FILE: progress, resume after a kill, a table at the end.",
        panels="PANELS",
    ),
    "audit": Verb(
        "audit:AuditFlags",
        "audit_run:audit",
        "Audit a judge: order, length, style, self-preference, attack strings, repeatability, agreement; a judge card.",
        panels="AUDIT_PANELS",
    ),
    "principles": Verb(
        "principles:PrinciplesFlags",
        "principles_run:write_principles",
        "Write the principles that answers to each prompt in FILE are to be judged by, for assay judge --principles.",
    ),
    "parse": Verb(
        "parse:ParseFlags",
        "parse:parse",
        "Print one JSON verdict (scores or choice) or failure a line for judge texts read from FILE.",
    ),
    "plan": Verb(
        "plan:PlanFlags",
        "plan_run:plan_run",
        "Plan a training run before it takes any GPU: placement, memory, time of a step, which mode would be faster.",
    ),
    "view": Verb(
        "view:ViewFlags",
        "view_run:view_run",
        "Show a training run, while it goes or afterwards: a table here, curves and answers as a page, "
        "curves as a PNG.",
    ),
    "train": Verb(
        "train:TrainFlags",
        "train_run:train_run",
        "Train a policy with rewards from a judge: rollouts, judging, updates, evaluation; goes on after a kill.",
        panels="TRAIN_PANELS",
        recipe="recipe",
    ),
    "sft": Verb(
        "sft:SftFlags",
        "fit_run:sft_run",
        "Fine-tune a model on given completions: LoRA or all weights, one device or many; goes on after a kill.",
        panels="SFT_PANELS",
        recipe="recipe",
    ),
    "rm": Verb(
        "rm:RmFlags",
        "fit_run:rm_run",
        "Train a reward model with one logit (Bradley-Terry, PairRM, CLoud, meta RM); goes on after a kill.",
        panels="RM_PANELS",
        recipe="recipe",
    ),
    "rft": Verb(
        "rft:RftFlags",
        "rft_run:build_rft",
        "Sample a judge on ITEMS with gold, keep the samples that are right, and write rows for assay sft.",
        panels="RFT_PANELS",
    ),
    "spct": Verb(
        "spct:SpctFlags",
        "spct_run:run_spct",
        "Make a better judge, all of it: cold start, rejection sampling, RL, meta RM, figures; goes on after a kill.",
    ),
    "bench": Verb(
        "bench:bench",
        "",
        "Measure a judge on benchmarks of reward models; check published tables.",
    ),
    "data": Verb(
        "data:data",
        "",
        "Generate, look at and check data to train judges on.",
    ),
    "model": Verb(
        "model:model",
        "",
        "Look at a model and its adapter; merge them for other servers; print the card of the adapter.",
    ),
    "demo": Verb(
        "demo:DemoFlags",
        "demo_run:run_demo",
        "Judge the bundled questions through a judge service, train a small policy with its rewards, write a report.",
    ),
}


class Verbs(TyperGroup):
    """The group of the verbs: in the list each is its first line, and the one that is called is made whole."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The verb that ``args`` begin with."""
        name, line, rest = super().resolve_command(ctx, args)
        return name, line if name is None else whole(name), rest


def whole(name: str) -> Any:
    """The command of a verb, with its flags."""
    one = VERBS[name]
    module, _, flags = one.flags.partition(":")
    found = vars(import_module(f".{module}", __package__))
    if not one.run:
        return get_group(found[flags])
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    panels = None if one.panels is None else found[one.panels]
    alone.command(name, cls=HelpfulCommand)(verb(found[flags], one.run, panels, recipe=one.recipe))
    return get_command(alone)


def add_verbs(app: typer.Typer) -> None:
    """Put every verb into the list of ``app``, a group of ``Verbs``."""
    for name, one in VERBS.items():
        app.command(name, help=one.about)(_listed)


def _listed() -> None:
    """Stands for a verb in the list; never called."""
