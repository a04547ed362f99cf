"""Figure 5.9 of the fused tiling thesis on processes: up to six devices, lines of five speeds, fan-out alone.

    python benchmarks/devices_speed.py MODEL.tflite [--devices 2 4 6] [--runs N] [--json]

`lines`: what the lines alone take, predicted as `--link` predicts it, with devices that compute in no time.
`measured`: the mean inference of device 0, under TFLM, each device a process of this computer, behind lines that are
slowed down (tflm_memopt/runtime/slow_lines.py). Their computing is the host's, on as many cores as it has: it is no
microcontroller's, so that a measurement says what the lines cost, and not how much sooner several devices are done.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from papers.devices import LINKS

import tflm_memopt
from tflm_memopt.analysis.lines import LineSpeed
from tflm_memopt.cli.devices import device_files
from tflm_memopt.convert.devices import crossing, together
from tflm_memopt.convert.request import request
from tflm_memopt.options import DEFAULTS


def lines_alone(shared: tflm_memopt.OptimizedDevices, speed: LineSpeed) -> float:
    """Milliseconds."""
    crosses = [crossing(request(DEFAULTS), one)[1] for one in shared.models]
    return together(speed, [[0.0] * (len(own) + 1) for own in crosses], crosses).milliseconds


def rows(model: Path, devices: int, runs: int) -> Iterator[dict[str, Any]]:
    """A network on so many devices, over each line."""
    shared = tflm_memopt.optimize_devices(model, devices)
    with tempfile.TemporaryDirectory() as name:
        for number, one in enumerate(shared.models):
            path = Path(name) / f"device{number}" / "model.tflite"
            path.parent.mkdir()
            path.write_bytes(one.model)
        for link, rate in LINKS.items():
            speed = LineSpeed(rate)
            found = tflm_memopt.verify_devices(model, device_files(Path(name)), runs=runs, line=speed)
            spent = found.devices[0].milliseconds[1:]
            yield {
                "model": model.stem,
                "devices": devices,
                "link": link,
                "sent": shared.report.sent,
                "bit_exact": found.bit_exact,
                "lines": round(lines_alone(shared, speed), 1),
                "measured": round(sum(spent) / len(spent), 1),
            }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL.tflite")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 3, 4, 5, 6], metavar="N")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="random inputs, beside three extreme ones")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    exact = True
    for found in (one for n in args.devices for one in rows(args.model, n, args.runs)):
        exact &= found["bit_exact"]
        print(json.dumps(found) if args.json else "| " + " | ".join(map(str, found.values())) + " |", flush=True)
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
