"""Completes commands with the Tab key. From a flag's metavar, the module knows whether to offer boards or files."""

import argparse
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import argcomplete
from argcomplete.completers import FilesCompleter

from tflm_memopt.model.c_array import SUFFIXES
from tflm_memopt.targets.boards import boards

MODELS = ("MODEL", "ORIGINAL", "REWRITTEN")


def complete(root: argparse.ArgumentParser) -> None:
    """Print completions of the command line that the shell passes in an environment variable, and exit."""
    (commands,) = (action.choices for action in root._actions if isinstance(action, argparse._SubParsersAction))
    for command in commands.values():
        for action in command._actions:
            action.completer = _completer(str(action.metavar))
    argcomplete.autocomplete(root)


def _completer(metavar: str) -> Any:
    if metavar == "BOARD":
        return _boards
    suffixes = (".tflite", *SUFFIXES) if metavar in MODELS else (PurePath(metavar).suffix,)
    return FilesCompleter([suffix[1:] for suffix in suffixes]) if any(suffixes) else None


def _boards(**_: Any) -> Mapping[str, str]:
    return {board.id: board.name for board in boards().values()}
