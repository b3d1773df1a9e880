"""Rows of a dataset on the Hugging Face hub, streamed through the optional package ``datasets``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from assay.core.errors import InputError

from .records import AnyRecord, Record


def hub_records(name: str, *, folder: str | None = None) -> Iterator[AnyRecord]:
    """Records of ``owner/name``, ``owner/name:split`` or ``owner/name:config:split``.

    ``folder``: of the repository, where its files are not listed as a config (``data_dir`` of ``load_dataset``).

    ``owner/name@revision`` takes them as of that commit, branch or tag; without it the dataset's main branch.

    Raises:
        InputError: ``datasets`` is not installed, there is no such dataset, config or split, or it has several splits
            and none was named; the message lists them.
    """
    repo, revision, config, split = _parts(name)
    try:
        import datasets  # pyright: ignore[reportMissingImports]  # an extra; tests use a stand-in
    except ModuleNotFoundError as error:
        raise InputError(f"the hub dataset {repo!r} needs `pip install assay[hub]`") from error
    load = cast("Any", datasets).load_dataset
    try:
        inside = {} if folder is None else {"data_dir": folder}
        loaded = load(repo, config, split=split, revision=revision, streaming=True, **inside)
    except FAULTS as error:
        raise InputError(f"cannot load the hub dataset {name!r}: {error}") from error
    if split is None:
        splits = [str(key) for key in loaded]
        if len(splits) != 1:
            raise InputError(f"the hub dataset {repo!r} has the splits {splits}: say hub:{name}:{splits[0]}")
        loaded = loaded[splits[0]]
    return _stream(name, loaded)


FAULTS = (OSError, ValueError, RuntimeError)
"""What ``datasets`` raises for a wrong name, config or split, and for a hub that cannot be reached."""


def _stream(name: str, rows: Iterable[dict[str, Any]]) -> Iterator[AnyRecord]:
    line = 0
    try:
        for row in rows:
            line += 1
            yield Record(line=line, row=row)
    except FAULTS as error:
        raise InputError(f"the hub dataset {name!r} breaks off after row {line}: {error}") from error


def hub_commit(name: str) -> str:
    """The commit that ``owner/name[@revision]`` stands for now, so that a run can say which records it saw.

    Raises:
        InputError: the package is not installed, there is no such dataset or revision, or the hub cannot be reached.
    """
    repo, revision, _, _ = _parts(name)
    try:
        import huggingface_hub  # pyright: ignore[reportMissingImports]  # comes with ``datasets``
    except ModuleNotFoundError as error:
        raise InputError(f"the hub dataset {repo!r} needs `pip install assay[hub]`") from error
    try:
        info = cast("Any", huggingface_hub).HfApi().dataset_info(repo, revision=revision)
    except FAULTS as error:
        raise InputError(f"cannot find out the commit of the hub dataset {name!r}: {error}") from error
    return str(info.sha)


def _parts(name: str) -> tuple[str, str | None, str | None, str | None]:
    """Repository, revision, config and split."""
    full, *rest = name.split(":")
    repo, at, revision = full.partition("@")
    if not repo or len(rest) > 2 or not all(rest) or (at and not revision):
        raise InputError(f"a hub dataset is written hub:owner/name[@revision][:[config:]split], not {'hub:' + name!r}")
    return repo, revision or None, rest[0] if len(rest) == 2 else None, rest[-1] if rest else None
