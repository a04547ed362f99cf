"""Digests of what conversions write, to show that a change of the source changes no byte of it.

    python scripts/digests.py record build/digests.json             on one commit
    python scripts/digests.py compare build/digests.json            on another: lists what differs, exit status 1

The cases are real models, the tests' zoo of odd models, and random networks drawn from seeds, each with some target,
input mode and budget. A case has a digest of the rewritten model, of its plan, of its report and of every kind of
emitted source; a conversion that is refused has one of its error. `--quick` takes a subset of the cases; `--parts`
compares some of the digests only. Results depend on versions of packages, which are recorded with them: `compare`
rejects other versions.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import platform
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import tflm_memopt
from tflm_memopt.emit import bundle
from tflm_memopt.errors import MemoptError
from tflm_memopt.model import interface
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.plan import cp_sat
from tflm_memopt.results import Optimized, Sample

ROOT = Path(__file__).parents[1]
NETWORKS = 500
QUICK_NETWORKS = 30
QUICK_MODEL = 100_000
"""Bytes of the largest real model among the quick cases."""
LIBRARIES = ("ai-edge-litert", "flatbuffers", "networkx", "numpy", "ortools")
"""Packages whose versions change the output of a conversion."""
CPU_FAMILIES = tuple({family: target for target, family in TARGETS.items()}.values())
"""A target of each family of packed kernels."""
RANDOM_SETTINGS: Mapping[str, Sequence[Any]] = {
    "target": CPU_FAMILIES,
    "input": ("arena", "arena", "stream", "stream:3", "external"),
    "op_per": ("region", "region", "group"),
    "max_macs": (None, None, 1.3, 2.0),
    "without": ((), (), ("reorder",), ("reverse",), ("rematerialisation",), ("tiles",)),
    "int8_io": (False, True),
    "fold": (True, True, False),
}
"""Options of which each random network gets one."""
REAL_SETTINGS: tuple[Mapping[str, Any], ...] = (
    *({"target": target} for target in CPU_FAMILIES),
    {"max_macs": 1.3},
    {"input": "stream"},
    {"input": "external", "op_per": "group", "int8_io": True},
    {"share": 0.25},
)
"""Each real model is converted with all of them. `share`: of the original's arena, the RAM limit."""

Digests = Mapping[str, str]
"""Digest of each part of a conversion's output."""


@dataclass(frozen=True, slots=True)
class Case:
    """A conversion: arguments of optimize(), and the source of the model."""

    source: str
    """A path, the name of a model of the zoo, or the seed of a random network."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    explored: bool = False
    """Whether the whole frontier is compared instead of one conversion."""

    @property
    def name(self) -> str:
        path = Path(self.source)
        parts = [path.name if path.is_absolute() else self.source, *(f"{k}={v}" for k, v in self.settings.items())]
        return " ".join([*parts, *(["explored"] if self.explored else [])])


def helper(module: str) -> Any:
    """Import a module of the tests or the benchmarks, which build models."""
    for folder in ("tests", "benchmarks"):
        if str(ROOT / folder) not in sys.path:
            sys.path.append(str(ROOT / folder))
    return importlib.import_module(module)


def cases(networks: int) -> Iterator[Case]:
    """Return all cases. Those for a quick comparison are marked."""
    shared = helper("conftest")
    for path in (*shared.OWN_MODELS, *sorted(shared.OUTSIDE.resolve().rglob("*.tflite"))):
        small = path.parent != shared.OUTSIDE.resolve() / "cases" and path.stat().st_size <= QUICK_MODEL
        for settings in REAL_SETTINGS:
            yield Case(str(path), {"effort": "low", **settings}, quick=small)
        yield Case(str(path))
        if path.stat().st_size <= QUICK_MODEL:
            yield Case(str(path), {"effort": "low", "target": CPU_FAMILIES[-1]}, explored=True)
    for name in helper("unit.analysis.arena_zoo").ZOO:
        yield Case(f"zoo/{name}", quick=True)
        yield Case(f"zoo/{name}", {"target": CPU_FAMILIES[-1], "op_per": "group"})
    for seed in range(networks):
        rng = random.Random(seed)
        drawn = {name: rng.choice(values) for name, values in RANDOM_SETTINGS.items()}
        if "tiles" in drawn["without"]:
            drawn["max_macs"] = None
        chosen = {name: value for name, value in drawn.items() if value != RANDOM_SETTINGS[name][0]}
        yield Case(f"network/{seed}", {"effort": "low", **chosen}, quick=seed < QUICK_NETWORKS)


def model(source: str) -> bytes:
    """Return the .tflite file of a case."""
    kind, _, name = source.partition("/")
    if kind == "zoo":
        return bytes(helper("unit.analysis.arena_zoo").ZOO[name]())
    return network(int(name)) if kind == "network" else Path(source).read_bytes()


def network(seed: int) -> bytes:
    """Return a random network: any operators, those of small devices, or with gates."""
    forced, plain, built = helper("property.forced"), helper("random_networks"), helper("property.networks")
    if seed % 3:
        return bytes(built.build(forced.bordered((forced.mobile, forced.squeezed)[seed % 3 - 1](seed))))
    return bytes(plain.network(seed, 4 + seed % 25, plain.KIND_SETS[seed // 3 % len(plain.KIND_SETS)]))


def convert(case: Case) -> tuple[str, Digests]:
    """Return the output of a conversion, each part as its digest."""
    settings, data = dict(case.settings), model(case.source)
    try:
        if case.explored:
            found = tflm_memopt.explore(data, **settings)
            return case.name, {"plan": digest([point.plan.to_json() for point in found.points])}
        if share := settings.pop("share", None):
            settings["ram_limit"] = int(share * tflm_memopt.inspect(data).arena.total)
        done = tflm_memopt.optimize(data, name="m", **settings)
    except MemoptError as error:
        return case.name, {"error": digest(str(error))}
    report = {key: value for key, value in done.report.to_json().items() if key != "seconds"}
    plan = done.plan.to_json() if done.plan else None
    parts = {"model": digest(done.model), "plan": digest(plan), "report": digest(report)}
    return case.name, parts | {kind: emitted(done, data, kind) for kind in bundle.EMITTERS if kind != "tflite"}


def emitted(done: Optimized, original: bytes, kind: str) -> str:
    """Return the digest of one kind of emitted source, with an inference on zeros."""
    graph = read(done.model).graph
    changes = interface.changes_of(interface.metadata(read(done.model).tree, interface.METADATA))
    seen = interface.with_whole_input(read(original).graph, graph, changes)
    inputs, outputs = (tuple(bytes(seen.tensors[t].nbytes) for t in ts) for ts in (seen.inputs, seen.outputs))
    try:
        files = bundle.files(done, "m", (kind,), bundle.Extras(lambda: Sample(inputs, outputs), original))
    except MemoptError as error:
        return digest(str(error))
    skipped = ("m.report.json",)
    return digest({name: hashlib.sha256(text).hexdigest() for name, text in files.items() if name not in skipped})


def digest(value: Any) -> str:
    """Return a short digest of bytes or plain data."""
    data = value if isinstance(value, bytes) else json.dumps(value, default=str).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def environment() -> dict[str, str]:
    """Return the versions and settings that digests depend on besides the source."""
    versions = {name: metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version(), "CP-SAT workers": str(cp_sat.WORKERS), **versions}


def digests(wanted: Sequence[Case], jobs: int) -> dict[str, Digests]:
    """Return the digests of each case by its name."""
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        found: dict[str, Digests] = {}
        for name, parts in pool.imap_unordered(convert, wanted):
            found[name] = parts
            if sys.stderr.isatty():
                print(f"\r{len(found)} of {len(wanted)}", end="", file=sys.stderr)
    return dict(sorted(found.items()))


def differences(old: Mapping[str, Digests], new: Mapping[str, Digests], parts: Sequence[str]) -> Iterator[str]:
    """Return a line for each case that differs, of those in both."""
    for name in new:
        if name not in old:
            yield f"{name}: not recorded"
            continue
        names = sorted({*old[name], *new[name]})
        changed = [p for p in names if old[name].get(p) != new[name].get(p) and (not parts or p in parts)]
        if changed:
            yield f"{name}: {', '.join(changed)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("record", "compare"))
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="a subset of the cases: at most two minutes on two cores")
    parser.add_argument("--networks", type=int, default=NETWORKS, metavar="N", help=f"random ones (default {NETWORKS})")
    parser.add_argument("--parts", nargs="+", default=(), metavar="PART", help="compare: these digests only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    args = parser.parse_args(arguments)

    wanted = [case for case in cases(args.networks) if case.quick or not args.quick]
    if args.do == "record":
        new = digests(wanted, args.jobs)
        args.file.parent.mkdir(parents=True, exist_ok=True)
        args.file.write_text(json.dumps({"environment": environment(), "digests": new}, indent=1) + "\n")
        print(f"{args.file}: {len(new)} cases")
        return 0
    old = json.loads(args.file.read_text())
    if old["environment"] != environment():
        parser.error(f"{args.file} was recorded with {old['environment']}, this is {environment()}")
    new = digests(wanted, args.jobs)
    lines = list(differences(old["digests"], new, args.parts))
    print("\n".join([*lines, f"{len(lines)} of {len(new)} cases differ"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
