"""Builds the Arduino library once per test run, in the folder where `make arduino` builds it."""

import fcntl
import functools
import os
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


@functools.cache
def arduino_library() -> Path:
    script = runpy.run_path(str(ROOT / "scripts/arduino.py"))
    output: Path = script["OUTPUT"]
    output.mkdir(parents=True, exist_ok=True)
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"process {os.getpid()}")
    with (output / "tests.lock").open("a+") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        stamp.seek(0)
        if stamp.read() != run:
            script["build"](output)
            stamp.truncate(0)
            stamp.write(run)
    return output / script["NAME"]
