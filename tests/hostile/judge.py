"""Judge the converter's results for damaged files. A process with limited time and memory (server.py) examines each
file.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

TESTS = Path(__file__).parents[1]


class Outcome(str, Enum):
    REFUSED = "refused"
    """The converter refused the file with one of the package's errors."""
    UNCHANGED = "unchanged"
    SAME = "same bytes"
    """The converter accepted the file, and TFLM gives the same output bytes for both models."""
    UNKNOWN = "converted; what TFLM makes of the original is undefined"
    DEFECT = "defect"


@dataclass(frozen=True)
class Verdict:
    seed: int
    outcome: Outcome
    detail: str = ""


def judge(seeds: Sequence[int]) -> Iterator[Verdict]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    command = [sys.executable, "-m", "hostile.server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps([*seeds]), file=server.stdin, flush=True)
        for seed in seeds:
            outcome, detail = json.loads(server.stdout.readline())
            yield Verdict(seed, Outcome(outcome), detail)
        server.stdin.close()
