"""Two engines on one server: the one that launched it, and one that only uses it."""

from __future__ import annotations

import asyncio

import pytest

from assay.core.errors import GenerationError, StartError
from assay.engines.sglang.engine import SGLangEngine

from .conftest import Bench, ask, chat, tokens, write_model


def test_a_server_of_somebody_else_answers_and_takes_weights(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine() as owner:
            guest = SGLangEngine(bench.config(attach=int(owner.url.rpartition(":")[2])))
            await guest.start()
            assert guest.info.weight_version == owner.info.weight_version
            assert (await ask(guest, chat())).text == (await ask(owner, chat())).text
            other = write_model(bench.folder / "other", marker=5)
            await guest.update_weights(str(other), "v2")
            assert (await ask(guest, tokens(4, 5))).weight_version == "v2"
            with pytest.raises(GenerationError, match="somebody else's"):
                await guest.sleep()
            await guest.close()
            assert (await ask(owner, tokens(4, 5))).weight_version == "v2"
            await owner.update_weights(str(bench.model), "v3")
            assert (await ask(owner, tokens(4, 5))).weight_version == "v3"

    asyncio.run(main())


def test_nothing_there_to_attach_to(bench: Bench) -> None:
    with pytest.raises(StartError, match="no SGLang server answers on port 1"):
        asyncio.run(SGLangEngine(bench.config(attach=1)).start())
