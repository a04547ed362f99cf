"""Figure 5.9 of the fused tiling thesis: up to six devices and links of five speeds, predicted.

    python benchmarks/devices_speed.py --models DIR [--only STEM ...] [--devices 1 2 4 6] [--update PAGE.md]

The table has the time of an inference on several Cortex-M4 at 80 MHz over each link, as `--link` estimates it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from papers.fused_tiling.devices import LINKS
from tables import markdown, page_parser, publish

import tflm_memopt
from tflm_memopt.api import optimize_planned
from tflm_memopt.check.checker import check
from tflm_memopt.check.together import HEAD_BYTES, RowCrosses
from tflm_memopt.convert.request import request
from tflm_memopt.devices.choice import shared_layers
from tflm_memopt.devices.links import LinkSpeed
from tflm_memopt.devices.network import Network, computed, together
from tflm_memopt.plan.iteration.planned import Planned

CORE, MHZ = "cortex-m4", 80
DEVICES = (1, 2, 4, 6)
NAMED = ("kws", "vww_96")
SPLITS: Mapping[str, tuple[str, ...]] = {"FDTO": ("fan-in",), "OWP": ()}
"""Ways of splitting weights, with the techniques that --without switches off for each."""
Computing = Sequence[Sequence[float]]
Message = Sequence[Sequence[RowCrosses]]


def shares(model: Path, devices: int, without: Sequence[str]) -> Sequence[tflm_memopt.Optimized]:
    """Return the models of the devices or, for one device, which has no links, its model."""
    if devices == 1:
        return (tflm_memopt.optimize(model),)

    def one(data: bytes, name: str, _limited: bool) -> tuple[tflm_memopt.Optimized, Planned | None]:
        return optimize_planned(data, name=name)

    return shared_layers(Network(model.read_bytes(), model.name, request({"without": without}), one), devices).models


def messages(models: Sequence[tflm_memopt.Optimized]) -> tuple[Computing, Message]:
    """Return the milliseconds that each device computes before each row it exchanges and after the last one, and the
    rows.
    """
    asked = request({"core": CORE, "clock": MHZ})
    found = [asked.conversion(one.original).of(one.plan).planned for one in models if one.plan]
    return [computed(asked, planned) for planned in found], [check(p.plan, p.graph) for p in found]


def rows(model: Path, devices: int, split: str) -> Iterator[dict[str, Any]]:
    """Yield the estimated time of a network on several devices over each link."""
    models = shares(model, devices, SPLITS[split])
    computing, crosses = messages(models)
    sent = sum(HEAD_BYTES + row.nbytes for own in crosses for row in own if row.sends)
    for link, rate in LINKS.items():
        yield {
            "model": model.stem, "split": split, "devices": devices, "link": link, "sent": sent,
            "estimated": together(LinkSpeed(rate), computing, crosses).milliseconds,
        }  # fmt: skip


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """Return a row for each network, split and number of devices, with a column for each link."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in found:
        split = row["split"] if row["devices"] > 1 else ""
        key = row["model"], split, str(row["devices"]), f"{row['sent']:,}"
        cells.setdefault(key, []).append(f"{row['estimated']:,.1f}")
    lines = ([*key, *own] for key, own in cells.items())
    return markdown(["network", "split", "devices", "bytes sent", *LINKS], lines, left=2)


TABLE = "devices-time"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = page_parser(__doc__)
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where .tflite files are")
    parser.add_argument("--only", nargs="+", default=NAMED, metavar="STEM", help="names contain one of these")
    parser.add_argument("--devices", type=int, nargs="+", default=DEVICES, metavar="N")
    args = parser.parse_args(arguments)
    models = [p for p in sorted(args.models.glob("*.tflite")) if any(name in p.stem for name in args.only)]
    found = []
    for model, n, split in product(models, args.devices, SPLITS):
        if n == 1 and split != next(iter(SPLITS)):
            continue  # nothing can be split
        found += rows(model, n, split)
    publish(args.update, TABLE, table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
