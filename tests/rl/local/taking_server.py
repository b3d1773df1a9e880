"""A process that takes weights as SGLang's scheduler does: decoded from handles, or received in a process group.

It answers the routes by which weights come, and ``/dump``, which writes what it has as safetensors. What it unpickles
may name the modules that SGLang's own unpickler lets through and no others.
"""

from __future__ import annotations

import asyncio
import base64
import io
import os
import pickle
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist
from aiohttp import web
from safetensors.torch import save_file

ALLOWED = (
    *("builtins.", "collections.", "copyreg.", "types.", "torch."),
    *("multiprocessing.resource_sharer.", "multiprocessing.reduction."),
)


class Careful(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if not any((module + ".").startswith(prefix) for prefix in ALLOWED):
            raise RuntimeError(f"blocked: {module}.{name}")
        return super().find_class(module, name)


class Taker:
    """``dies_at``: the bucket at which it ends, before it answers; ``refuses_at``: the one that it answers 400."""

    def __init__(self, rank: int, dies_at: int | None, refuses_at: int | None) -> None:
        self.rank = rank
        self.dies_at = dies_at
        self.refuses_at = refuses_at
        self.version = "first"
        self.buckets = 0
        self.flushes = 0
        self.weights: dict[str, torch.Tensor] = {}
        self.groups: dict[str, Any] = {}

    async def join(self, request: web.Request) -> web.Response:
        body = await request.json()
        await asyncio.to_thread(self._join, body)
        return web.json_response({"success": True, "message": "Succeeded to initialize custom process group."})

    def _join(self, body: dict[str, Any]) -> None:
        from torch.distributed import distributed_c10d

        c10d: Any = distributed_c10d
        name, size = body["group_name"], body["world_size"]
        place = f"tcp://{body['master_address']}:{body['master_port']}"
        store, rank, _ = next(c10d.rendezvous(place, body["rank_offset"] + self.rank, size))
        self.groups[name], _ = c10d._new_process_group_helper(
            size, rank, [], dist.Backend(body["backend"]), c10d.PrefixStore(name, store), group_name=name,
            timeout=c10d.default_pg_timeout,
        )  # fmt: skip

    async def from_tensor(self, request: web.Request) -> web.Response:
        body = await request.json()
        if (refused := self.counted()) is not None:
            return refused
        assert body["load_format"] == "flattened_bucket"
        sent = base64.b64decode(body["serialized_named_tensors"][self.rank], validate=True)
        bucket = Careful(io.BytesIO(sent)).load()
        flat = bucket["flattened_tensor"]
        for one in bucket["metadata"]:
            value = flat[one.start_idx : one.end_idx].view(one.dtype).reshape(one.shape)
            assert one.numel == one.end_idx - one.start_idx
            self.weights[one.name] = value.clone()
        return self.taken(body)

    async def from_group(self, request: web.Request) -> web.Response:
        body = await request.json()
        if (refused := self.counted()) is not None:
            return refused
        dtypes = [getattr(torch, one) for one in body["dtypes"]]
        shapes = [torch.Size(one) for one in body["shapes"]]
        sizes = [dtype.itemsize * shape.numel() for dtype, shape in zip(dtypes, shapes, strict=True)]
        flat = torch.empty(sum(sizes), dtype=torch.uint8)
        options = dist.BroadcastOptions()
        options.rootRank = 0
        await asyncio.to_thread(self.groups[body["group_name"]].broadcast([flat], options).wait)
        for name, dtype, shape, part in zip(body["names"], dtypes, shapes, flat.split(sizes), strict=True):
            self.weights[name] = part.clone().view(dtype).reshape(shape)
        return self.taken(body)

    def counted(self) -> web.Response | None:
        self.buckets += 1
        if self.buckets == self.dies_at:
            os._exit(1)
        if self.buckets == self.refuses_at:
            return web.json_response({"success": False, "message": "partially updated"}, status=400)
        return None

    def taken(self, body: dict[str, Any]) -> web.Response:
        self.flushes += body["flush_cache"]
        self.version = body["weight_version"] or self.version
        return web.json_response({"success": True, "message": "Success"})

    async def info(self, request: web.Request) -> web.Response:
        told = {"weight_version": self.version, "buckets": self.buckets, "flushes": self.flushes}
        return web.json_response(told)

    async def dump(self, request: web.Request) -> web.Response:
        save_file(self.weights, (await request.json())["path"])
        return web.json_response({})


def serve(told: Connection, rank: int, dies_at: int | None, refuses_at: int | None) -> None:
    """Tells the port; ends with the process that started it."""
    torch.set_num_threads(1)
    asyncio.run(_serve(told, Taker(rank, dies_at, refuses_at)))


async def _serve(told: Connection, taker: Taker) -> None:
    app = web.Application(client_max_size=1 << 30)
    app.add_routes(
        [
            web.post("/init_weights_update_group", taker.join),
            web.post("/update_weights_from_tensor", taker.from_tensor),
            web.post("/update_weights_from_distributed", taker.from_group),
            web.get("/model_info", taker.info),
            web.post("/dump", taker.dump),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    told.send(runner.addresses[0][1])
    await asyncio.Event().wait()
