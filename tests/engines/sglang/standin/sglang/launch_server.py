"""``python -m sglang.launch_server``."""

import argparse
import sys
from pathlib import Path

from sglang.srt.server_args import ServerArgs

sys.path.insert(0, str(Path(__file__).parents[2]))

if __name__ == "__main__":
    import double

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    double.serve(parser.parse_args())
