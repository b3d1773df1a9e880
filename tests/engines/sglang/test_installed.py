import json
import sys
from pathlib import Path

import pytest

from assay.core.errors import StartError
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.installed import PROBE, ask_installed, child_env, locate_model

from .conftest import Bench


def test_the_interpreter_says_which_arguments_its_sglang_takes(bench: Bench) -> None:
    installed = ask_installed(bench.config())
    assert installed.version == "0.5.17"
    known = installed.arguments
    assert known["tensor_parallel_size"] is known["tp_size"]
    assert (known["tp_size"].flag, known["tp_size"].form) == ("--tp-size", "value")
    assert known["enable_memory_saver"].form == "switch"
    assert known["cuda_graph_bs_decode"].form == "list"
    fast = known["enable_streaming_fast_path"]
    assert (fast.default_on, fast.off_flag) == (True, "--no-enable-streaming-fast-path")


def test_an_interpreter_without_sglang_is_named(tmp_path: Path) -> None:
    empty = SGLangConfig(model="m", python=sys.executable, env={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(StartError, match=r"no usable SGLang \(ModuleNotFoundError.*pip install sglang"):
        ask_installed(empty)
    with pytest.raises(StartError, match=r"'/no/such/python' cannot be run"):
        ask_installed(SGLangConfig(model="m", python="/no/such/python"))


def test_another_interpreter_does_not_inherit_where_modules_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/ours")
    assert child_env(SGLangConfig(model="m"))["PYTHONPATH"] == "/ours"
    assert "PYTHONPATH" not in child_env(SGLangConfig(model="m", python="/other/python"))
    theirs = SGLangConfig(model="m", python="/other/python", env={"PYTHONPATH": "/theirs"})
    assert child_env(theirs)["PYTHONPATH"] == "/theirs"


def test_a_hub_model_is_located_by_that_interpreter(tmp_path: Path) -> None:
    hub = "def snapshot_download(name, allow_patterns):\n"
    hub += "    if name != 'org/judge':\n        raise OSError('404: no ' + name + chr(10) + 'more')\n"
    (tmp_path / "huggingface_hub.py").write_text(hub + "    return '/cache/' + name\n")
    env = {"PYTHONPATH": str(tmp_path)}
    config = SGLangConfig(model="org/judge", python=sys.executable, env=env)
    assert locate_model(config) == {"path": "/cache/org/judge"}
    assert locate_model(config.model_copy(update={"model": "org/other"})) == {"error": "OSError: 404: no org/other"}


def test_the_probe_imports_nothing_of_ours() -> None:
    assert "assay" not in json.dumps([line for line in PROBE.read_text().splitlines() if "import" in line][1:])
