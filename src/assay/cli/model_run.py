"""What ``assay model`` does."""

from __future__ import annotations

import json
from typing import Any

from assay.core import log
from assay.core.errors import InputError
from assay.core.files import write_whole
from assay.engines.embedded.shipped import DEFAULT_ADAPTER, card_of, find_adapter, judging_adapter, shipped
from assay.report.adapter_page import card_markdown, replace_card

from .model import CardFlags, MergeFlags, ShowFlags
from .showing import console


def show(flags: ShowFlags) -> None:
    """Run ``assay model show``."""
    from assay.engines.embedded.finding import find_model
    from assay.engines.embedded.lora import check_base
    from assay.engines.model_files import base_sha256, source_of, weight_version

    log.setup("warning")
    path = find_model(flags.model)
    told: dict[str, Any] = {
        "model": flags.model,
        "folder": str(path),
        "source": source_of(path),
        "state_sha256": base_sha256(path),
        "weight_version": weight_version(path),
        "adapter": None,
    }
    lora = find_adapter(judging_adapter(flags.model, flags.adapter, judges=None))
    if lora is not None:
        check_base(lora, flags.model, path)
        judges = {} if lora.card is None else {name: form.target for name, form in lora.card.judges.items()}
        told["adapter"] = {
            "name": lora.name,
            "digest": lora.digest,
            "folder": str(lora.path),
            "rank": lora.rank,
            "scale": lora.scale,
            "layers": len(lora.layers),
            "judges": judges,
        }
    print(json.dumps(told, indent=2, ensure_ascii=False))


def merge(flags: MergeFlags) -> None:
    """Run ``assay model merge``."""
    from assay.training.merged import write_merged

    log.setup("warning")
    lora = write_merged(flags.model, flags.adapter, flags.out, flags.dtype)
    console.print(f"{flags.model} + {lora.identity} in {flags.out}", highlight=False, soft_wrap=True)


def card(flags: CardFlags) -> None:
    """Run ``assay model card``."""
    there = flags.adapter != DEFAULT_ADAPTER or DEFAULT_ADAPTER in shipped()
    found = card_of(flags.adapter) if there else None
    if there and found is None:
        raise InputError(f"adapter {flags.adapter!r} has no card.json")
    lora = None if found is None else find_adapter(flags.adapter)
    text = card_markdown(found, "" if lora is None else lora.digest)
    if flags.into is None:
        print(text)
        return
    try:
        page = flags.into.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{str(flags.into)!r} cannot be read: {error.strerror or error}") from error
    write_whole(flags.into, replace_card(page, text, str(flags.into)), what="the card")
