"""Makes the figures of docs/papers.md again and compares them with the page.

    python -m benchmarks.papers [PAPER...] [--models DIR] [--nets DIR] [--update]

Each item is printed as product, benchmark or predicted, with its figure. The exit code is 1 if a claim does not hold or
if a figure differs from the page, which --update rewrites. DIR holds the public models, or the layer lists of msf-CNN's
networks; items that need a folder that is not given are left out, and named.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers.items import ITEMS, ROOT, Item
from tables import between, markdown, updated

PAGE, TABLE = ROOT / "docs/papers.md", "papers"
TITLES = ("paper", "in the paper", "kind", "result here", "script")


def main() -> int:
    papers = list(dict.fromkeys(item.paper for item in ITEMS))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"{', '.join(papers)} (default: all)")
    for name in ("models", "nets"):
        parser.add_argument(f"--{name}", type=Path, metavar="DIR")
    parser.add_argument("--update", action="store_true", help="rewrite the table of docs/papers.md")
    args = parser.parse_args()
    if unknown := [paper for paper in args.papers if paper not in papers]:
        parser.error(f"unknown paper '{unknown[0]}'; known: {', '.join(papers)}")
    text = PAGE.read_text(encoding="utf-8")
    stated = {item: row for row in between(text, TABLE)[0].splitlines() for item in ITEMS if starts(row, item)}
    folders = {name: folder for name in ("models", "nets") if (folder := getattr(args, name))}
    failed = 0
    for item in ITEMS:
        if args.papers and item.paper not in args.papers:
            continue
        if item.needs and item.needs not in folders:
            print(f"{item.paper}, {item.what}: left out, needs --{item.needs} DIR", flush=True)
            continue
        try:
            figure = item.figure(folders)
        except AssertionError as wrong:
            print(f"{item.paper}, {item.what}: FAILED, {wrong}", flush=True)
            failed += 1
            continue
        made = row(item, figure)
        same = stated.get(item) == made
        failed += not (same or args.update)
        print(f"{item.paper}, {item.what}: {item.kind}, {figure}{'' if same else ' (the page differs)'}", flush=True)
        stated[item] = made
    if args.update:
        rows = [[cell.strip() for cell in stated[item].strip("|").split("|")] for item in ITEMS if item in stated]
        PAGE.write_text(updated(text, TABLE, markdown(TITLES, rows, left=len(TITLES))), encoding="utf-8")
    return 1 if failed else 0


def row(item: Item, figure: str) -> str:
    """Return the page's row of an item."""
    return f"| {item.paper} | {item.what} | {item.kind} | {figure} | `benchmarks/papers/{item.script}` |"


def starts(line: str, item: Item) -> bool:
    return line.startswith(f"| {item.paper} | {item.what} |")


if __name__ == "__main__":
    sys.exit(main())
