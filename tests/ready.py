"""Python with TensorFlow, which takes seconds to import: a process that has done so forks for each script.

All tests of a worker share one such process. That a fresh Python does the same, as users start it, is a test of its
own (tests/unit/cli/test_keras.py).
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess


def tensorflow(script: Path | str, *arguments: str | Path, folder: Path) -> CompletedProcess[str]:
    """Like `python SCRIPT ARGUMENTS` in a folder; the script is a file, or its text."""
    with tempfile.TemporaryDirectory() as own:
        if isinstance(script, str):
            (Path(own) / "script.py").write_text(script, encoding="utf-8")
            script = Path(own) / "script.py"
        out, err = Path(own) / "out", Path(own) / "err"
        server = _server()
        assert server.stdin and server.stdout
        request = {"folder": str(folder), "argv": [str(script), *map(str, arguments)], "streams": [str(out), str(err)]}
        print(json.dumps(request), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        return CompletedProcess(request["argv"], code, out.read_text(), err.read_text())


@functools.cache
def _server() -> subprocess.Popen[str]:
    command = [sys.executable, __file__]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    atexit.register(server.communicate)  # it ends with its input
    return server


def _serve() -> None:
    """Answers each request with an exit code; returns in each child, which runs its script and ends like others."""
    import tensorflow as tf  # noqa: PLC0415

    import tflm_memopt.cli.main  # noqa: F401, PLC0415

    _ = tf.keras, tf.lite.TFLiteConverter  # imported late
    gc.freeze()  # what is here stays shared with the children
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            request = json.loads(line)
            break
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    else:
        return
    os.chdir(request["folder"])
    for descriptor, path in enumerate([os.devnull, *request["streams"]]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
    sys.argv = request["argv"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _serve()
