"""Reproduces the figures of the papers: every script below this folder, or those of some papers.

    python benchmarks/papers [PAPER...] [--models DIR] [--nets DIR]

PAPER is a folder beside this file. DIR holds the public models, or the layer lists of msf-CNN's networks; scripts that
need a folder that is not given are left out, and named.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMMANDS = (
    "vmcu/vmcu.py",
    "msf_cnn/frontier.py --nets {nets}",
    "msf_cnn/ablation.py --nets {nets}",
    "msf_cnn/executed.py --nets {nets}",
    "fused_tiling/examples.py",
    "fused_tiling/tiled_paths.py",
    "fused_tiling/tiling_tables.py --models {models}",
    "fused_tiling/schedules.py",
    "fused_tiling/devices.py",
    "fused_tiling/weight_partition.py",
    "fused_tiling/split_networks.py",
    "joint_memory/joint.py",
)
FOLDERS = ("models", "nets")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    papers = sorted({command.partition("/")[0] for command in COMMANDS})
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"{', '.join(papers)} (default: all)")
    for name in FOLDERS:
        parser.add_argument(f"--{name}", type=Path, metavar="DIR")
    args = parser.parse_args()
    if unknown := [paper for paper in args.papers if paper not in papers]:
        parser.error(f"unknown paper '{unknown[0]}'; known: {', '.join(papers)}")
    folders = {name: getattr(args, name) for name in FOLDERS}
    failed = 0
    for command in COMMANDS:
        if args.papers and command.partition("/")[0] not in args.papers:
            continue
        if missing := [name for name, folder in folders.items() if f"{{{name}}}" in command and folder is None]:
            print(f"# {command}: left out, needs --{missing[0]} DIR", flush=True)
            continue
        print(f"# {command}", flush=True)
        script, *arguments = command.format(**folders).split()
        failed += subprocess.run([sys.executable, HERE / script, *arguments], check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
