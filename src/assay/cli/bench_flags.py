"""Which flags of ``assay bench run`` say how a judge is asked, and the refusal of those that have no effect."""

from __future__ import annotations

from assay.core.errors import InputError

from .bench_run import BenchRunFlags, DataFlags
from .judge import JudgeFlags

OF_A_JUDGE = ("engine", "model", "adapter", "url", "route_key", "engine_options", "sampling", "choices", "lenient",
              "principles", "judge_options", "meta", "meta_options", "cache")  # fmt: skip
"""Flags that say how a judge is asked."""


def revisions_of(flags: DataFlags) -> str | dict[str, str] | None:
    """The revision of all hub datasets, or of each by its name.

    Raises:
        InputError: one for all and others for some, or two for one.
    """
    parts = [text.rpartition("=") for text in flags.revision]
    if not parts or (len(parts) == 1 and not parts[0][0]):
        return parts[0][2] if parts else None
    found = {name: revision for name, _, revision in parts}
    if "" in found or len(found) < len(parts) or not all(found.values()):
        raise InputError(f"--revision {' '.join(flags.revision)}: write one for all, or DATASET=REVISION once for each")
    return found


def asking_flags(flags: BenchRunFlags) -> JudgeFlags:
    """The flags that say how a judge is asked."""
    own = set(BenchRunFlags.model_fields) & set(JudgeFlags.model_fields)
    # Orders, k and the like mean something else here, and the plans of the passes say them.
    names = own - {"out", "k", "orders", "reduce", "ties", "min_valid", "k_meta", "bootstrap", "limit"}
    said = {name: value for name, value in flags if name in names}
    if flags.engine == "service" and "reask" not in flags.model_fields_set:
        said.pop("reask")
    return JudgeFlags(**said)


def refuse(flags: BenchRunFlags, names: tuple[str, ...], why: str) -> None:
    """Flags without effect are refused, not dropped."""
    for name in names:
        value = flags.model_dump()[name]
        if value != BenchRunFlags.model_fields[name].get_default(call_default_factory=True):
            raise InputError(f"--{name.replace('_', '-')} {value!r} {why}")
