"""An SGLang server as a receiver of weights: the calls by which it takes buckets. No torch: payloads are text here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import GenerationError, InputError
from assay.core.types import FailureKind

from ..feed import Bucket, Group
from ..model_files import tensor_shapes
from .model import ModelFiles
from .server import Server

BUCKETS = "flattened_bucket"
"""SGLang's name for weights that lie one after the other in one tensor."""


class HttpReceiver:
    """``feed.Receiver``. ``begun``: a bucket was sent, so that the server may hold some of it whatever comes back."""

    def __init__(self, server: Server, *, key: str, width: int, version: str) -> None:
        self.begun = False
        self._server = server
        self._key = key
        self._width = width
        self._version = version

    @property
    def key(self) -> str:
        return self._key

    @property
    def width(self) -> int:
        return self._width

    async def join(self, group: Group) -> None:
        await self._call("/init_weights_update_group", join_body(group))

    async def take(self, bucket: Bucket) -> None:
        self.begun = True
        if bucket.group is None:
            await self._call("/update_weights_from_tensor", tensor_body(bucket, self._version))
        else:
            await self._call("/update_weights_from_distributed", group_body(bucket, self._version))

    async def _call(self, path: str, body: Mapping[str, Any]) -> None:
        reply = await self._server.control(path, body)
        data = reply.data()
        if not isinstance(data, dict) or data.get("success") is not True:
            raise GenerationError(FailureKind.ENGINE_ERROR, f"SGLang answered {path} with {reply.text!r:.300}")


def join_body(group: Group) -> dict[str, Any]:
    """Of /init_weights_update_group."""
    return {
        "master_address": group.host,
        "master_port": group.port,
        "rank_offset": 1,
        "world_size": group.size,
        "group_name": group.name,
        "backend": group.backend,
    }


def tensor_body(bucket: Bucket, version: str) -> dict[str, Any]:
    """Of /update_weights_from_tensor: where the memory is, for each tensor-parallel rank."""
    return {"serialized_named_tensors": list(bucket.payloads), **_body(bucket, version)}


def group_body(bucket: Bucket, version: str) -> dict[str, Any]:
    """Of /update_weights_from_distributed: what is about to be broadcast."""
    return {
        "names": list(bucket.names),
        "dtypes": [bucket.dtype] * len(bucket.names),
        "shapes": [list(shape) for shape in bucket.shapes],
        "group_name": bucket.group,
        **_body(bucket, version),
    }


def check_outline(served: ModelFiles, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Whether a server can take weights of these names and shapes; others would end it.

    Raises:
        InputError: names the first difference, and that the folder is the way.
    """
    there = tensor_shapes(served.path)
    # A tied head is sent once, under the name of the embedding, and stored under both names by some programs.
    optional = {"lm_head.weight"} if served.config.get("tie_word_embeddings") else set[str]()
    for name in sorted((there.keys() | shapes.keys()) - optional):
        if there.get(name) != shapes.get(name):
            raise InputError(
                f"tensor {name!r} is {shapes.get(name) or 'none'} in the trainer and {there.get(name) or 'none'} in "
                f"{str(served.path)!r}: these weights go through a folder only, --weight-sync disk"
            )


def _body(bucket: Bucket, version: str) -> dict[str, Any]:
    # Only the last bucket changes the version that the server says, and empties its cache.
    return {
        "load_format": BUCKETS,
        "flush_cache": bucket.last,
        "weight_version": version if bucket.last else None,
    }
