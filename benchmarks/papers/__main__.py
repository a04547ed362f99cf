"""Compute the figures of docs/papers.md, and compare them with the page.

    python -m benchmarks.papers [ITEM...] [--models DIR] [--nets DIR] [--update]

ITEM is the name of a paper, or the start of an item's name. All items together take about 25 minutes of one core. The
exit code is 1 if a claim does not hold or if a figure differs from the page. With --update, the page is rewritten. The
folder of --models holds the public models, and the folder of --nets holds the layer lists of msf-CNN's networks. Items
that need a missing folder are skipped.
"""

import argparse
import os
import posixpath
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers.items import ITEMS, ROOT, Item
from tables import between, markdown, updated

from tflm_memopt.errors import MemoptError

PAGE, TABLE = ROOT / "docs/papers.md", "papers"
TITLES = ("paper", "in the paper", "kind", "result here", "script")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", nargs="*", metavar="ITEM", help="a paper or item (default: all)")
    for name in ("models", "nets"):
        parser.add_argument(f"--{name}", type=Path, metavar="DIR")
    parser.add_argument("--update", action="store_true", help="rewrite the table of docs/papers.md")
    args = parser.parse_args()
    chosen = [item for item in ITEMS if not args.items or any(named(item, name) for name in args.items)]
    if unknown := [name for name in args.items if not any(named(item, name) for item in ITEMS)]:
        parser.error(f"unknown item '{unknown[0]}'; known: {', '.join(dict.fromkeys(item.paper for item in ITEMS))}")
    text = PAGE.read_text(encoding="utf-8")
    stated = {item: row for row in between(text, TABLE).splitlines() for item in ITEMS if starts(row, item)}
    folders = {name: folder for name in ("models", "nets") if (folder := getattr(args, name))}
    failed, started = 0, spent()
    for item in chosen:
        if item.needs and item.needs not in folders:
            print(f"{item.paper}, {item.what}: left out, needs --{item.needs} DIR", flush=True)
            continue
        before = spent()
        try:
            figure = item.figure(folders)
        except (AssertionError, MemoptError, OSError, RuntimeError) as wrong:
            print(f"{item.paper}, {item.what}: FAILED, {wrong}", flush=True)
            failed += 1
            continue
        made = row(item, figure)
        same = stated.get(item) == made
        failed += not (same or args.update)
        took = f"{spent() - before:,.0f} s{'' if same else ', the page differs'}"
        print(f"{item.paper}, {item.what}: {item.kind}, {figure} ({took})", flush=True)
        stated[item] = made
    print(f"{failed} failed, {spent() - started:,.0f} s")
    if args.update:
        rows = [[cell.strip() for cell in stated[item].strip("|").split("|")] for item in ITEMS if item in stated]
        PAGE.write_text(updated(text, TABLE, markdown(TITLES, rows, left=len(TITLES))), encoding="utf-8")
    return 1 if failed else 0


def spent() -> float:
    return sum(os.times()[:4])


def named(item: Item, name: str) -> bool:
    return item.paper == name or item.what.startswith(name)


def row(item: Item, figure: str) -> str:
    script = posixpath.normpath(f"benchmarks/papers/{item.script}")
    return f"| {item.paper} | {item.what} | {item.kind} | {figure} | `{script}` |"


def starts(line: str, item: Item) -> bool:
    return line.startswith(f"| {item.paper} | {item.what} |")


if __name__ == "__main__":
    sys.exit(main())
