"""Figure 5.9 of the fused tiling thesis: up to six devices, lines of five speeds, predicted and on processes.

    python benchmarks/devices_speed.py --models DIR [--only STEM ...] [--devices 1 2 4 6] [--json] [--update PAGE.md]

Two tables. devices-time has the time of an inference on several Cortex-M4 at 80 MHz over each line, as `--link`
estimates it. devices-lines has the time of the lines alone: predicted for devices that compute in no time, and measured
as the fastest inference of device 0 under TFLM. There, each device is a process on this computer with artificially slow
lines (tflm_memopt/devices/slow_lines.py), and every output byte is compared. Since the host computes much faster than
microcontrollers, the measurement shows the cost of the lines only, not the speedup of several devices. --table writes
one of them; devices-time alone runs nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from papers.fused_tiling.devices import LINKS
from tables import markdown, require, update

import tflm_memopt
from tflm_memopt.api import optimize_planned
from tflm_memopt.check.checker import check
from tflm_memopt.check.together import HEAD_BYTES, RowCrosses
from tflm_memopt.cli.devices import device_files
from tflm_memopt.convert.request import request
from tflm_memopt.devices.choice import shared_layers
from tflm_memopt.devices.links import LinkSpeed
from tflm_memopt.devices.network import Network, computed, together
from tflm_memopt.plan.iteration.planned import Planned

CORE, MHZ = "cortex-m4", 80
NAMED = ("kws", "vww_96")
SPLITS: Mapping[str, tuple[str, ...]] = {"FDTO": ("fan-in",), "OWP": ()}
"""Ways of splitting weights, with the techniques that --without switches off for each."""
Computing = Sequence[Sequence[float]]
Message = Sequence[Sequence[RowCrosses]]


def shares(model: Path, devices: int, without: Sequence[str]) -> Sequence[tflm_memopt.Optimized]:
    """Return the models of the devices or, for one device, which has no links, its model."""
    if devices == 1:
        return (tflm_memopt.optimize(model),)

    def one(data: bytes, name: str) -> tuple[tflm_memopt.Optimized, Planned | None]:
        return optimize_planned(data, name=name)

    return shared_layers(Network(model.read_bytes(), model.name, request({"without": without}), one), devices).models


def messages(models: Sequence[tflm_memopt.Optimized]) -> tuple[Computing, Message]:
    """Return the milliseconds that each device computes before each row it exchanges and after the last one, and the
    rows.
    """
    asked = request({"core": CORE, "clock": MHZ})
    found = [asked.conversion(one.original).of(one.plan).planned for one in models if one.plan]
    return [computed(asked, planned) for planned in found], [check(p.plan, p.graph) for p in found]


def links_alone(crosses: Message, speed: LinkSpeed) -> float:
    """Return the milliseconds of the messages without computation."""
    return together(speed, [[0.0] * (len(own) + 1) for own in crosses], crosses).milliseconds


def rows(model: Path, devices: int, split: str, runs: int | None) -> Iterator[dict[str, Any]]:
    """Return the times of a network on several devices over each link. runs: random inputs; None: it does not run."""
    models = shares(model, devices, SPLITS[split])
    computing, crosses = messages(models)
    sent = sum(HEAD_BYTES + row.nbytes for own in crosses for row in own if row.sends)
    with tempfile.TemporaryDirectory() as name:
        for number, one in enumerate(models):
            path = Path(name) / f"device{number}" / "model.tflite"
            path.parent.mkdir()
            path.write_bytes(one.model)
        for link, rate in LINKS.items():
            speed = LinkSpeed(rate)
            row = {
                "model": model.stem, "split": split, "devices": devices, "link": link, "sent": sent,
                "estimated": together(speed, computing, crosses).milliseconds,
                "lines": round(links_alone(crosses, speed), 1),
            }  # fmt: skip
            yield row if runs is None else row | ran(model, device_files(Path(name)), speed, runs)


def ran(model: Path, files: Sequence[Path], speed: LinkSpeed, runs: int) -> dict[str, Any]:
    """Return the measured milliseconds of processes."""
    found = tflm_memopt.verify_devices(model, files, runs=runs, line=speed)
    if not found.devices:
        raise RuntimeError(found.failure)
    return {"bit_exact": found.bit_exact, "measured": round(min(found.devices[0].milliseconds), 1)}


def table(found: Sequence[Mapping[str, Any]], *names: str) -> str:
    """Return a row for each network, split and number of devices, with a column for each link."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in found:
        split = row["split"] if row["devices"] > 1 else ""
        key = row["model"], split, str(row["devices"]), f"{row['sent']:,}"
        cells.setdefault(key, []).append(" / ".join(f"{row[name]:,.1f}" for name in names))
    lines = ([*key, *own] for key, own in cells.items())
    return markdown(["network", "split", "devices", "bytes sent", *LINKS], lines, left=2)


TABLES: Mapping[str, Sequence[str]] = {"devices-time": ("estimated",), "devices-lines": ("lines", "measured")}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where .tflite files are")
    parser.add_argument("--only", nargs="+", default=NAMED, metavar="STEM", help="names contain one of these")
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6], metavar="N")
    parser.add_argument("--runs", type=int, default=2, metavar="N", help="random inputs, beside three extreme ones")
    parser.add_argument("--table", choices=TABLES, help="this one alone")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--update", type=Path, metavar="PAGE.md", help="rewrite the tables there")
    args = parser.parse_args(arguments)
    wanted = {name: figures for name, figures in TABLES.items() if args.table in (None, name)}
    for name in wanted if args.update else ():
        require(args.update, name)
    models = [p for p in sorted(args.models.glob("*.tflite")) if any(name in p.stem for name in args.only)]
    runs = args.runs if "devices-lines" in wanted else None
    found = []
    for model, n, split in product(models, args.devices, SPLITS):
        if n == 1 and split != next(iter(SPLITS)):
            continue  # nothing can be split
        for row in rows(model, n, split, runs):
            found.append(row)
            if args.json:
                print(json.dumps(row), flush=True)
    for name, figures in wanted.items():
        if args.update:
            update(args.update, name, table(found, *figures))
        elif not args.json:
            print(table(found, *figures))
    return 0 if all(row.get("bit_exact", True) for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
