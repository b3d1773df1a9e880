"""The service over one SGLang engine, as a process of its own: ``python served.py --model PATH [...]``.

Prints one line of JSON when it is ready (its own URL and the engine's), and ends when its stdin does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from assay.core.log import setup
from assay.service.app import create_app
from assay.service.server import running
from assay.service.settings import ServiceSettings
from assay.wire.genrm import DEFAULT_KEY
from judges import add_options, engine_config, hub_of, pool_of, sglang_of


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--model", required=True)
    parser.add_argument("--share", type=float, default=0.6)
    parser.add_argument("--max-new-tokens", type=int, default=32)
    options = parser.parse_args()
    setup()
    config = engine_config(options, options.model, mem_fraction_static=options.share)
    pool = pool_of(config)
    app = create_app(hub_of({DEFAULT_KEY: pool}, options.max_new_tokens), ServiceSettings(port=0, max_in_flight=1024))
    async with running(app, ServiceSettings(port=0, max_in_flight=1024)) as url:
        parts = sglang_of(pool)._running
        assert parts is not None
        print(json.dumps({"url": url, "engine": parts.parts.server.url}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
