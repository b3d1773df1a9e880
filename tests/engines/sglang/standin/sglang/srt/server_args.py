"""Some of SGLang's arguments, declared as it declares them."""

import argparse


class ServerArgs:
    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--model-path", "--model", required=True)
        add("--host", default="127.0.0.1")
        add("--port", type=int, default=30000)
        add("--tp-size", "--tensor-parallel-size", "--tp", dest="tp_size", type=int, default=1)
        add("--pp-size", "--pipeline-parallel-size", dest="pp_size", type=int, default=1)
        add("--dp-size", "--data-parallel-size", dest="dp_size", type=int, default=1)
        add("--ep-size", "--expert-parallel-size", "--ep", dest="ep_size", type=int, default=1)
        add("--nnodes", type=int, default=1)
        add("--node-rank", type=int, default=0)
        add("--dist-init-addr", "--nccl-init-addr", dest="dist_init_addr", default=None)
        add("--base-gpu-id", type=int, default=0)
        add("--mem-fraction-static", type=float, default=None)
        add("--served-model-name", default=None)
        add("--dtype", default="auto")
        add("--context-length", type=int, default=None)
        add("--max-running-requests", type=int, default=None)
        add("--max-queued-requests", type=int, default=None)
        add("--weight-version", default="default")
        add("--reasoning-parser", choices=["auto", "qwen3"], default=None)
        add("--log-level-http", default=None)
        add("--api-key", default=None)
        add("--cuda-graph-bs-decode", type=int, nargs="+", default=None)
        add("--json-model-override-args", default="{}")
        add("--trust-remote-code", action="store_true")
        add("--enable-memory-saver", action="store_true")
        add("--enable-weights-cpu-backup", action="store_true")
        add("--enable-deterministic-inference", action="store_true")
        add("--enable-dp-attention", action="store_true")
        add("--enable-cache-report", action="store_true")
        add("--enable-metrics", action="store_true")
        add("--allow-auto-truncate", action="store_true")
        add("--enable-streaming-fast-path", action=argparse.BooleanOptionalAction, default=True)
