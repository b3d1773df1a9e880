"""Which adapter judges: the one that the user names, else the one that comes with the package where it was made for it.

Owns: the names that ``--adapter`` takes, and the rule of the default. An engine by itself takes none: the policy of a
training run is never changed. Does not own: how an adapter is read (``lora``) or applied (``merging``).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.core.errors import InputError
from assay.core.types import SamplingParams
from assay.judges.base import Judge
from assay.judges.verifier import VerifierJudge

from .adapter_card import AdapterCard, read_card
from .config import DEFAULT_MODEL, NO_ADAPTER
from .lora import WEIGHTS, Lora, read_lora

DEFAULT_ADAPTER = "smollm2-135m-judge"
"""The adapter that comes with the package, for the bundled model."""

ADAPTERS = Path(__file__).parent / "adapters"
"""A folder for each adapter of the package."""


def shipped() -> tuple[str, ...]:
    """The names of the adapters in the package."""
    return tuple(sorted(file.parent.name for file in ADAPTERS.glob(f"*/{WEIGHTS}")))


def find_adapter(said: str) -> Lora | None:
    """The adapter of a name in the package or of a folder; None for ``none``.

    Raises:
        InputError: there is no such adapter, or it is wrong.
    """
    if said == NO_ADAPTER:
        return None
    path = adapter_folder(said)
    return read_lora(path, said if path.parent == ADAPTERS else None)


def adapter_folder(said: str) -> Path:
    """Where an adapter is. Raises InputError."""
    names = shipped()
    if said in names:
        return ADAPTERS / said
    path = Path(said).expanduser()
    if not path.is_dir():
        there = f"the package has {', '.join(names)}" if names else "the package has none"
        raise InputError(f"no adapter {said!r}: {there}; else name a folder in peft's layout, or {NO_ADAPTER!r}")
    return path


def judging_adapter(model: str | None, said: str | None, judges: Iterable[str] | None) -> str:
    """What ``adapter`` is to be for an engine that judges.

    Args:
        model: as the user named it; None = the bundled one.
        said: as the user named it; None = not said.
        judges: the names of all the judges that will ask this engine; None = any, as in a service, which has one
            model for all of its judges.

    Not said, it is that of the package, if the model is the bundled one and the card names one of the judges.

    Raises:
        InputError: the card in the package is wrong.
    """
    if said is not None:
        return _located(said)
    if model not in (None, DEFAULT_MODEL) or DEFAULT_ADAPTER not in shipped():
        return NO_ADAPTER
    card = read_card(ADAPTERS / DEFAULT_ADAPTER)
    if card is None:
        raise InputError(f"the adapter {DEFAULT_ADAPTER!r} of the package has no card; install assay again")
    return DEFAULT_ADAPTER if judges is None or set(judges) & set(card.judges) else NO_ADAPTER


def _located(said: str) -> str:
    """A folder by its whole path, since engines in other processes may have another working directory."""
    path = Path(said).expanduser()
    return said if said in (NO_ADAPTER, *shipped()) or not path.is_dir() else str(path.absolute())


def card_of(adapter: str) -> AdapterCard | None:
    """The card of an adapter, named as for ``find_adapter``; None where it has none. Reads no weights."""
    return None if adapter == NO_ADAPTER else read_card(adapter_folder(adapter))


def forms(card: AdapterCard | None) -> dict[str, SamplingParams]:
    """How each judge of the card is sampled unless the user says otherwise."""
    return {} if card is None else {name: form.sampling for name, form in card.judges.items()}


def needing_reference(card: AdapterCard | None) -> frozenset[str]:
    """The judges of the card that are not asked about items without a reference."""
    return frozenset(() if card is None else (name for name, form in card.judges.items() if form.needs_reference))


def check_form(card: AdapterCard | None, judge: Judge) -> None:
    """Whether the judge asks for what the adapter was trained to write.

    Raises:
        InputError: it reads the label at the first token, where the adapter writes a line before it.
    """
    if card is None:
        return
    form = card.judges.get(judge.name)
    if form is not None and form.target == "forms" and isinstance(judge, VerifierJudge) and judge.choices:
        raise InputError(
            f"judge {judge.name!r} with choices reads the label as the first token, and its adapter {card.name!r} "
            "writes normal forms before it: leave choices out, or take --adapter none"
        )
