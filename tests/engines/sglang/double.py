"""A double of SGLang's server: its routes, its answers, and above all the calls that end it.

It runs as a real process with a child that plays the scheduler, behind ``standin/sglang/launch_server.py``. It does
what the real one was seen to do. At a fatal call it says so in its log, kills its scheduler, keeps the port open for a
moment and ends, as the real one does. Environment: DOUBLE_DIR (a journal of the calls, and the memory of the card),
DOUBLE_START (``fail`` or ``hang``), DOUBLE_KEEPS_MEMORY, DOUBLE_TAKES (a folder with ``taking_server``: it really takes
weights, and leaves what it has after the last bucket in DOUBLE_DIR). Its texts are in ``double_text``.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from aiohttp import web
from double_text import Replies

CRASH_S = 0.3
LAG_S = 0.03
"""For so long after its last reply the scheduler still holds the last batch."""
GIB = 1 << 30
WEIGHTS, KV = 2 * GIB, 6 * GIB
ALL_TAGS = ["kv_cache", "weights", "cuda_graph"]


class Card:
    """The memory of one card, in a file that the tests read and write too."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "card.json"

    def read(self) -> dict[str, Any]:
        return json.loads(self.file.read_text())

    def hold(self, pid: int, size: int) -> None:
        card = self.read()
        card["held"][str(pid)] = size
        swap = self.file.with_suffix(".new")
        swap.write_text(json.dumps(card))
        swap.replace(self.file)

    def free(self) -> int:
        card = self.read()
        return card["total"] - card["neighbour"] - sum(card["held"].values())


class Double:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        folder = Path(os.environ["DOUBLE_DIR"])
        self.journal = (folder / "journal.jsonl").open("a", buffering=1)
        self.card = Card(folder)
        self.keeps_memory = "DOUBLE_KEEPS_MEMORY" in os.environ
        self.model_path = args.model_path
        self.served = args.served_model_name or args.model_path
        self.released: set[str] = set()
        self.buckets = 0
        self.takers: list[Any] = []
        if "DOUBLE_TAKES" in os.environ:
            sys.path.insert(0, os.environ["DOUBLE_TAKES"])
            from taking_server import Taker

            self.takers = [Taker(rank, None, None) for rank in range(args.tp_size)]
        self.crashing = False
        self.unpaused = asyncio.Event()
        self.unpaused.set()
        self.replies = Replies(args, read_config(args.model_path), self.body, self.admit)
        title = ("-c", "import time\nwhile True: time.sleep(60)", "sglang::scheduler")
        self.scheduler = subprocess.Popen([sys.executable, "-S", *title])
        self.hold()

    @property
    def idle(self) -> bool:
        quiet = asyncio.get_running_loop().time() - self.replies.last_end
        return not self.replies.running and quiet > LAG_S

    def hold(self) -> None:
        size = GIB // 2
        if self.keeps_memory or "weights" not in self.released:
            size += WEIGHTS
        if self.keeps_memory or "kv_cache" not in self.released:
            size += KV
        self.card.hold(self.scheduler.pid, size)

    async def crash(self, why: str) -> web.Response:
        """The scheduler dies at once, the port a moment later; nobody is answered."""
        print(f"Scheduler hit an exception: {why}", flush=True)
        self.crashing = True
        self.scheduler.kill()
        self.scheduler.wait()
        self.card.hold(self.scheduler.pid, 0)
        asyncio.get_running_loop().call_later(CRASH_S, os._exit, 1)
        await asyncio.sleep(60)
        raise AssertionError

    def scheduler_answers(self) -> bool:
        state = Path(f"/proc/{self.scheduler.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return not self.crashing and state not in "TtZ"

    async def body(self, request: web.Request) -> Any:
        text = await request.text()
        body = json.loads(text) if text else None
        self.journal.write(json.dumps({"path": request.path, "body": body}) + "\n")
        if self.crashing:
            await asyncio.sleep(60)
        return body

    async def admit(self, ids: list[int]) -> None:
        """What happens to a generation before its first token."""
        await self.unpaused.wait()
        if self.released:
            await self.crash("Triton: Pointer argument cannot be accessed")
        if any(not 0 <= one < self.replies.config["vocab_size"] for one in ids):
            await self.crash("CUDA error: device-side assert triggered")

    # Readings

    async def health(self, request: web.Request) -> web.Response:
        await self.body(request)
        if os.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION") == "false":
            return web.Response()
        if self.released and self.unpaused.is_set():
            return await self.crash("Triton: Pointer argument cannot be accessed")
        await asyncio.sleep(1.0)
        return web.Response()

    async def model_info(self, request: web.Request) -> web.Response:
        told = {"model_path": self.model_path, "weight_version": self.replies.version, "has_image_understanding": False}
        return web.json_response(told)

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self.served, "object": "model"}]})

    async def server_info(self, request: web.Request) -> web.Response:
        """The one reading that the scheduler itself must answer."""
        while not self.scheduler_answers():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return web.json_response({"version": "0.5.17", "internal_states": [{}], **vars(self.args)})

    async def loads(self, request: web.Request) -> web.Response:
        load = {
            "dp_rank": 0,
            "num_running_reqs": len(self.replies.running),
            "num_waiting_reqs": 0,
            "max_total_num_tokens": 1000,
            "cache_hit_rate": 0.5,
            "memory": {"weight_gb": WEIGHTS / GIB, "kv_cache_gb": KV / GIB, "graph_gb": 0},
        }
        return web.json_response({"version": "0.5.17", "loads": [load]})

    # Control calls

    async def flush(self, request: web.Request) -> web.Response:
        await self.body(request)
        return web.Response(text="Cache flushed.") if self.idle else web.Response(status=400, text="Flush cache failed")

    async def abort(self, request: web.Request) -> web.Response:
        body = await self.body(request)
        for rid, generation in self.replies.running.items():
            if body.get("abort_all") or (body.get("rid") and rid.startswith(body["rid"])):
                generation.aborted = True
        return web.Response()

    async def pause(self, request: web.Request) -> web.Response:
        body = await self.body(request)
        self.unpaused.clear()
        while body.get("mode", "abort") == "abort" and self.replies.running:
            for generation in self.replies.running.values():
                generation.aborted = True
            await asyncio.sleep(0.02)
        return web.json_response({"message": "Generation paused successfully.", "status": "ok"})

    async def go_on(self, request: web.Request) -> web.Response:
        await self.body(request)
        self.unpaused.set()
        return web.json_response({"message": "Generation continued successfully.", "status": "ok"})

    async def release(self, request: web.Request) -> web.Response:
        body = await self.body(request)
        if not self.args.enable_memory_saver:
            return web.json_response(None)
        if not self.idle:
            return await self.crash("release_memory_occupation should be called only when server is idle")
        for tag in body.get("tags") or ALL_TAGS:
            if tag in self.released:
                return await self.crash(f"tag {tag!r} is already paused")
            self.released.add(tag)
        if "weights" in self.released and not self.args.enable_weights_cpu_backup:
            self.replies.zeros = True
        self.hold()
        return web.json_response(None)

    async def resume(self, request: web.Request) -> web.Response:
        body = await self.body(request)
        tags = body.get("tags") or ALL_TAGS
        if missing := [tag for tag in tags if tag not in self.released]:
            return await self.crash(f"KeyError: {missing[0]!r}")
        need = WEIGHTS * ("weights" in tags) + KV * ("kv_cache" in tags)
        if need > self.card.free():
            return await self.crash("cuMemCreate: out of memory")
        self.released -= set(tags)
        self.hold()
        return web.json_response(None)

    async def update(self, request: web.Request) -> web.Response:
        body = await self.body(request)
        path = Path(body["model_path"])
        if not (path / "model.safetensors").is_file():
            told = {"success": False, "message": "Failed to get weights iterator: no such folder"}
            return web.json_response(told, status=400)
        config = read_config(str(path))
        if config["hidden_size"] != self.replies.config["hidden_size"]:
            return await self.crash("size mismatch, and the roll-back failed too")
        while self.replies.running:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        if not self.idle:
            return await self.crash("AssertionError: Cache flush failed after updating weights")
        if "weights" in self.released:
            return await self.crash("illegal memory access")
        # The real one serves under the name of what it loaded last, whatever it was told at its start.
        self.model_path = self.served = str(path)
        self.replies.config, self.replies.zeros = config, False
        self.replies.version = body.get("weight_version") or self.replies.version
        return web.json_response({"success": True, "message": "Succeeded to update model weights."})

    async def from_tensor(self, request: web.Request) -> web.Response:
        """Payloads are texts that say which weights; DOUBLE_BUCKETS says at which one it ends, the first time."""
        body = await self.body(request)
        self.buckets += 1
        once = Path(os.environ["DOUBLE_DIR"]) / "ended"
        if str(self.buckets) == os.environ.get("DOUBLE_BUCKETS") and not once.exists():
            once.touch()
            return await self.crash("RuntimeError: size mismatch")
        if self.takers:
            return await self.taken(request, "from_tensor")
        if "weights" in self.released:
            return await self.crash("illegal memory access")
        if body["flush_cache"] and not self.idle:
            return await self.crash("AssertionError: Cache flush failed after updating weights")
        marker = int(body["serialized_named_tensors"][0])
        self.replies.config, self.replies.zeros = {**self.replies.config, "marker": marker}, False
        self.replies.version = body.get("weight_version") or self.replies.version
        return web.json_response({"success": True, "message": "Success"})

    async def from_group(self, request: web.Request) -> web.Response:
        self.buckets += 1
        once = Path(os.environ["DOUBLE_DIR"]) / "ended"
        if str(self.buckets) == os.environ.get("DOUBLE_BUCKETS") and not once.exists():
            once.touch()
            return await self.crash("RuntimeError: NCCL error")
        return await self.taken(request, "from_group")

    async def join(self, request: web.Request) -> web.Response:
        await self.body(request)
        return await self.takers[0].join(request)

    async def taken(self, request: web.Request, how: str) -> web.Response:
        """Every tensor-parallel rank takes its own; after the last bucket each leaves what it has."""
        from safetensors.torch import save_file

        reply = web.Response(status=400)
        for taker in self.takers:
            reply = await getattr(taker, how)(request)
        version = (await request.json())["weight_version"]
        if version is not None:
            self.replies.version = version
            for taker in self.takers:
                name = f"{version}.{os.getpid()}.{taker.rank}.safetensors"
                save_file(taker.weights, Path(os.environ["DOUBLE_DIR"]) / name)
        return reply


def read_config(path: str) -> dict[str, Any]:
    return json.loads((Path(path) / "config.json").read_text())


async def _run(args: argparse.Namespace) -> None:
    double = Double(args)
    replies = double.replies
    posts = {
        "/generate": replies.native,
        "/v1/chat/completions": replies.chat,
        "/tokenize": replies.tokenize,
        "/flush_cache": double.flush,
        "/abort_request": double.abort,
        "/pause_generation": double.pause,
        "/continue_generation": double.go_on,
        "/release_memory_occupation": double.release,
        "/resume_memory_occupation": double.resume,
        "/update_weights_from_disk": double.update,
        "/update_weights_from_tensor": double.from_tensor,
        "/init_weights_update_group": double.join,
        "/update_weights_from_distributed": double.from_group,
    }
    gets = {
        "/health": double.health,
        "/model_info": double.model_info,
        "/server_info": double.server_info,
        "/v1/models": double.models,
        "/v1/loads": double.loads,
    }
    app = web.Application(client_max_size=1 << 30)
    app.add_routes([web.post(path, handler) for path, handler in posts.items()])
    app.add_routes([web.get(path, handler) for path, handler in gets.items()])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await web.TCPSite(runner, args.host, args.port).start()
    print("The server is fired up and ready to roll!", flush=True)
    await stop.wait()
    while replies.running:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    double.scheduler.kill()
    os._exit(0)


def serve(args: argparse.Namespace) -> None:
    print(f"server_args={vars(args)}", flush=True)
    if os.environ.get("DOUBLE_START") == "fail":
        print("RuntimeError: Loaded weights leave no GPU memory for the KV cache", flush=True)
        sys.exit(1)
    if os.environ.get("DOUBLE_START") == "hang":
        print("Load weight begin.", flush=True)
        signal.pause()
    asyncio.run(_run(args))
