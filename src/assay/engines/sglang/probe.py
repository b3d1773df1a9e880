"""Asks an interpreter about its SGLang. Runs there, so it imports nothing of Assay.

    python -c "$(cat probe.py)" arguments        version, and every argument of the server
    python -c "$(cat probe.py)" locate NAME      the folder of a hub model, downloaded if need be

As text, not by its path: a script finds modules in its own folder first, and those here are not meant.

The answer is the last line of stdout, as JSON.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import sys
from typing import Any

WANTED = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt", "*.py"]


def arguments() -> dict[str, Any]:
    """The version, and of every argument its names on the command line and how it takes its value."""
    server_args = importlib.import_module("sglang.srt.server_args")
    parser = argparse.ArgumentParser(add_help=False)
    server_args.ServerArgs.add_cli_args(parser)
    found = [
        {"name": action.dest, "flags": action.option_strings, "form": _form(action), "default": action.default is True}
        for action in parser._actions
        if action.option_strings
    ]
    return {"version": importlib.metadata.version("sglang"), "arguments": found}


def locate(name: str) -> dict[str, Any]:
    """The folder that the hub's files of a model are in."""
    hub = importlib.import_module("huggingface_hub")
    try:
        return {"path": hub.snapshot_download(name, allow_patterns=WANTED)}
    except (OSError, ValueError) as error:  # the hub's own errors derive from these
        lines = str(error).strip().splitlines() or [""]
        return {"error": f"{type(error).__name__}: {lines[0]}"}


def _form(action: argparse.Action) -> str:
    if action.nargs == 0:
        return "switch"
    return "list" if action.nargs in ("+", "*") or isinstance(action.nargs, int) else "value"


if __name__ == "__main__":
    answer = arguments() if sys.argv[1] == "arguments" else locate(sys.argv[2])
    print("\n" + json.dumps(answer))
