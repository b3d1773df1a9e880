import asyncio

import pytest

from assay.core.errors import InputError, StartError
from assay.engines.sglang.engine import SGLangEngine
from assay.engines.sglang.node import SGLangNode

from .conftest import Bench


def test_a_node_of_a_larger_engine_lends_its_gpus_and_answers_nothing(bench: Bench) -> None:
    async def main() -> None:
        options = {"num_gpus": 2, "nnodes": 2, "dist_init_addr": "127.0.0.1:1", "node_rank": 1}
        node = SGLangNode(bench.config(**options), bench.cards)
        assert node.fault == "the node is not running"
        await node.start()
        assert node.fault is None
        log = bench.log.read_text()
        assert "'nnodes': 2, 'node_rank': 1, 'dist_init_addr': '127.0.0.1:1'" in log
        assert "'tp_size': 2" in log
        await node.close()
        assert node.fault is not None
        await node.close()
        with pytest.raises(StartError, match="start it as an SGLangNode"):
            await SGLangEngine(bench.config(**options), bench.cards).start()

    asyncio.run(main())


def test_rank_0_is_an_engine(bench: Bench) -> None:
    with pytest.raises(InputError, match="it is an SGLangEngine"):
        SGLangNode(bench.config())
