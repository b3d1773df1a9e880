"""From ``--adapter`` to the options of an engine that judges, and how its judge is then sampled."""

from __future__ import annotations

from typing import Any

from assay.core.errors import InputError
from assay.core.types import SamplingParams
from assay.engines.embedded.config import NO_ADAPTER
from assay.engines.embedded.shipped import card_of, check_form, forms, judging_adapter, needing_reference
from assay.judges import JUDGES, Judge

from .asking import AskingFlags


def adapted(
    flags: AskingFlags, kind: str, options: dict[str, Any], judge: Judge
) -> tuple[SamplingParams, frozenset[str]]:
    """Put the adapter into the options of the engine that will answer ``judge``.

    Returns how it is sampled unless said, and the judges that are not asked without a reference.

    Raises:
        InputError: there is no such adapter, it was trained to answer otherwise, or the engine takes none.
    """
    if kind != "embedded":
        refuse_adapter(flags, f"has no effect with --engine {kind}: only the embedded engine merges adapters")
        return SamplingParams(), frozenset()
    said = options.get("adapter") if flags.adapter is None else flags.adapter
    # A judge out of a file may have any name; what it asks is its own.
    built = JUDGES.get(judge.name)
    names = [judge.name] if built is not None and type(judge) is built.make else []
    options["adapter"] = judging_adapter(options.get("model"), said, names)
    card = card_of(options["adapter"])
    check_form(card, judge)
    if not names:
        return SamplingParams(), frozenset()
    return forms(card).get(judge.name, SamplingParams()), needing_reference(card)


def refuse_adapter(flags: AskingFlags, why: str) -> None:
    """An adapter without effect is refused, not dropped."""
    if flags.adapter not in (None, NO_ADAPTER):
        raise InputError(f"--adapter {flags.adapter!r} {why}")
