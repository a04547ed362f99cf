"""Runs one of several devices as a process that has only its own model: `python -m tflm_memopt.devices.device`.

The process has a JSON object as its argument: the device number, the model's path, the number of inferences, the
timeout in ms, and the folder of custom kernels, inputs and outputs. The process listens on a loopback port, prints the
port's number, and reads the ports of all devices from standard input. Device 0 reads the inputs and writes the outputs.
At its end, the process prints a JSON object with the sent and received bytes, and all statuses and times.
"""

import json
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.runtime import own, wheel, worker

OK, ABORT, ERROR = 0, 15, 1
"""Statuses of an inference: success (kTfLiteOk), waiting for rows (kTfLiteAbort), and failure (kTfLiteError)."""
BACKLOG = 16


def connect(listening: socket.socket, device: int, ports: Sequence[int]) -> list[socket.socket | None]:
    """Connect to all devices with lower numbers, and return open streams to all devices, with None for the device
    itself.
    """
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
    link.begin()
    status = ABORT
    while status == ABORT:
        for k, values in enumerate(inputs):
            tflm.set_input(values, k)
        try:
            status = tflm.invoke()
        except RuntimeError:
            status = ERROR
        inputs = ()  # At the next call, the memory of the input may hold other tensors.
        if status == ABORT and not link.wait():
            status = ERROR
    if status != OK:
        tflm.reset()
    return int(status)


def main() -> int:
    try:
        run(json.loads(sys.argv[1]))
    except RuntimeError as error:
        print(error, flush=True)
        return 1
    return 0


def run(asked: Mapping[str, Any]) -> None:
    folder = Path(asked["folder"])
    if (folder / own.FILE).exists():
        wheel.use_own(folder / own.FILE)
    model = Path(asked["model"]).read_bytes()
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        print(listening.getsockname()[1], flush=True)
        streams = connect(listening, asked["device"], json.loads(sys.stdin.readline()))
    link = wheel.Link([s.fileno() if s else -1 for s in streams], asked["device"], asked["patience"])
    tflm = worker.allocate(model)
    inputs = worker.load(folder / worker.INPUTS) if asked["device"] == 0 else []
    results: list[list[NDArray[Any]]] = [[] for _ in range(asked["outputs"])]
    statuses, spent = [], []
    for r in range(asked["runs"]):
        started = time.monotonic()
        statuses.append(infer(tflm, link, [values[r] for values in inputs]))
        spent.append(round(1000 * (time.monotonic() - started), 3))
        for k, result in enumerate(results):
            result.append(tflm.get_output(k))
    if asked["device"] == 0:
        worker.save(folder / worker.OUTPUTS, [np.stack(result) for result in results])
    sent, received = link.nbytes
    tflm.print_allocations()
    said = {"sent": sent, "received": received, "statuses": statuses, "milliseconds": spent}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    sys.exit(main())
