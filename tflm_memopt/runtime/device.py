"""One device of several, as a process that has its own model and nothing else: `python -m tflm_memopt.runtime.device`.

Its command line is one JSON object: the number of the device, its model's path, how many inferences, the patience in
milliseconds, and the arena's size. It listens on a loopback port, which it prints; from standard input it gets the
ports of all. Device 0 has `inputs`, a file of arrays, and writes `outputs`. Each ends with a line of JSON: bytes sent
and received, and of every inference the status and how long it took. The caller's side is in devices.py.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.runtime import wheel, worker

OK, ABORT, ERROR = 0, 15, 1
"""Statuses of an invocation: kTfLiteOk, kTfLiteAbort, kTfLiteError."""
BACKLOG = 16


def connect(listening: socket.socket, device: int, ports: Sequence[int]) -> list[socket.socket | None]:
    """A stream to every other device: from each to those before it."""
    found: list[socket.socket | None] = [None] * len(ports)
    for other in range(device):
        made = socket.create_connection(("127.0.0.1", ports[other]))
        made.sendall(bytes([device]))
        found[other] = made
    for _ in range(device + 1, len(ports)):
        made, _address = listening.accept()
        found[made.recv(1)[0]] = made
    for stream in found:
        if stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def infer(tflm: Any, link: wheel.Link, inputs: Sequence[NDArray[Any]]) -> int:
    """One inference; its status."""
    link.begin()
    status = ABORT
    while status == ABORT:
        for k, values in enumerate(inputs):
            tflm.set_input(values, k)
        try:
            status = tflm.invoke()
        except RuntimeError:
            status = ERROR
        inputs = ()  # its bytes may be others' by now
        if status == ABORT and not link.wait():
            status = ERROR
    if status != OK:
        tflm.reset()
    return int(status)


def main() -> int:
    """Runs, and says what became of it."""
    asked = json.loads(sys.argv[1])
    model = Path(asked["model"]).read_bytes()
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        print(listening.getsockname()[1], flush=True)
        streams = connect(listening, asked["device"], json.loads(sys.stdin.readline()))
    link = wheel.Link([s.fileno() if s else -1 for s in streams], asked["device"], asked["first"], asked["patience"])
    tflm = wheel.interpreter(model, asked["arena"]) if asked["arena"] else worker.allocate(model)
    inputs = worker.load(Path(asked["inputs"])) if asked["device"] == 0 else []
    results: list[list[NDArray[Any]]] = [[] for _ in range(asked["outputs"])]
    statuses, spent = [], []
    for r in range(asked["runs"]):
        started = time.monotonic()
        statuses.append(infer(tflm, link, [values[r] for values in inputs]))
        spent.append(round(1000 * (time.monotonic() - started), 3))
        for k, result in enumerate(results):
            result.append(tflm.get_output(k))
    if asked["device"] == 0:
        worker.save(Path(asked["results"]), [np.stack(result) for result in results])
    sent, received = link.nbytes
    tflm.print_allocations()
    said = {"sent": sent, "received": received, "statuses": statuses, "milliseconds": spent}
    print(json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
