"""``assay serve`` as a process: the seeds' calls, errors at start, a clean stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli.service_process import service_process
from assay.data import read_results
from assay.scoring.journal import read_sealed

FAKE = ["--engine", "fake", "--log-level", "warning"]


def call(url: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_seeds_calls_give_the_documented_bodies(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Evaluate the answer consistency..."}]
    with service_process([*FAKE, "--record", str(tmp_path / "rec")], tmp_path / "log", start_s=60) as url:
        assert call(f"{url}/health") == (200, '{"status":"healthy","service":"genrm"}')
        assert call(f"{url}/generate", {"messages": messages}) == (200, '{"response":"1"}')
        status, body = call(f"{url}/generate", {"messages": messages, "route_key": "safety"})
        assert status == 404
        assert json.loads(body)["error"]["message"] == (
            "No GenRM instance registered for route_key='safety'; registered: ['__default__']"
        )
        assert call(f"{url}/generate", {"messages": messages, "route_key": "__default__"})[0] == 200
        item = {"prompt": "1/2 + 1/4?", "candidates": ["Answer: 0.75", "Answer: 2/6"], "reference": "3/4"}
        status, body = call(f"{url}/score", {"judge": "math", "item": item})
        assert status == 200
        assert json.loads(body)["verdict"]["scores"] == [1.0, 0.0]
    (generated,) = (tmp_path / "rec").glob("generations-*.parquet")
    assert [r["outcome"] for r in read_sealed(generated)] == ["generated", "generated"]
    (judged,) = (tmp_path / "rec").glob("judgments-*.parquet")
    rows = read_results(judged)
    assert [(r.candidate, r.scores, r.n) for r in rows] == [(0, (1.0,), 1), (1, (0.0,), 1)]
    assert rows[0].item["candidates"] == item["candidates"]
    assert "Traceback" not in (tmp_path / "log").read_text()


HOLDING = """
import sys, time
from pathlib import Path
from assay.cli.service_process import service_process

with service_process(["--engine", "fake", "--log-level", "warning"], Path("log"), start_s=60) as url:
    print(url, flush=True)
    time.sleep(300)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the guard knows processes as Linux does")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_the_service_ends_with_who_started_it(tmp_path: Path, number: int) -> None:
    """However that ended: nothing of its own session is left."""
    token = f"ASSAY_SERVE_TEST={tmp_path}"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING],
        cwd=tmp_path,
        env={**os.environ, "ASSAY_SERVE_TEST": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    with process.stdout:
        url = process.stdout.readline().strip()
    assert call(f"{url}/health")[0] == 200
    assert len(list(having(token))) >= 3, "who started it, the guard, the service"
    process.send_signal(number)
    process.wait(60)
    until = time.monotonic() + 60
    while (left := list(having(token))) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def having(token: str) -> Iterator[str]:
    """Processes with this variable that live."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield folder.name
        except OSError:
            continue


def test_two_judges_are_told_apart_by_route_key(tmp_path: Path) -> None:
    instances = {
        "quality": {"model_path": "a", "num_gpus": 1, "engine_config": {"default": "good"}},
        "safety": {"model_path": "b", "num_gpus": 1, "engine_config": {"default": "safe"}},
    }
    flags = [*FAKE, "--genrm-instances", json.dumps(instances)]
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "x"}]}
    with service_process(flags, tmp_path / "log", start_s=60) as url:
        assert call(f"{url}/generate", {**body, "route_key": "quality"}) == (200, '{"response":"good"}')
        assert call(f"{url}/generate", {**body, "route_key": "safety"}) == (200, '{"response":"safe"}')
        status, text = call(f"{url}/generate", body)
        assert status == 404
        assert "registered: ['quality', 'safety']" in text
        assert json.loads(call(f"{url}/health")[1])["instances"] == {
            "quality": {"status": "healthy"},
            "safety": {"status": "healthy"},
        }


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--host", "0.0.0.0"], 2, "set an API key"),
        (["--genrm-engine-config", '{"max_contxt_len": 5}', "--engine", "embedded"], 2, "max_contxt_len"),
        (["--genrm-sampling-config", '{"temprature": 0.1}'], 2, "temprature"),
        (["--genrm-instances", '{"a": {"model_path": "x"}}'], 2, "missing required key 'num_gpus'"),
        (["--engine", "openai"], 2, "base_url"),
        (["--judge", "nowhere.toml"], 2, "nowhere.toml"),
        (["--record", "file/below"], 4, "cannot write"),
    ],
)
def test_wrong_flags_are_one_clear_line(tmp_path: Path, flags: list[str], code: int, message: str) -> None:
    (tmp_path / "file").write_text("")
    arguments = ["serve", *([] if "--engine" in flags else FAKE), *flags, "--port", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "assay", "serve", *FAKE, "--port", str(port)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 3
    assert f"port {port}" in done.stderr
    assert "--port" in done.stderr


def test_an_unknown_model_stops_the_start_with_its_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assay", "serve", "--genrm-model-path", "no/such-model", "--port", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 2, done.stderr
    assert "no/such-model" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_ctrl_c_stops_cleanly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "serve", *FAKE, "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert "ready" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == "Assay GenRM service stopped\n"
