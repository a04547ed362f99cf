"""Reads an application from app.toml. Paths in app.toml are relative to the folder of app.toml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tflm_memopt import units
from tflm_memopt.apps.app import App, AppModel, bad_config
from tflm_memopt.errors import about, one_of
from tflm_memopt.files import read_file, shown, stem, toml
from tflm_memopt.options import OPTIONS
from tflm_memopt.targets import own_board

SUFFIX = ".toml"
NOT_HERE = frozenset({"plan", "ram_limit", "flash_limit", "if_worthwhile", "interpreter"})
"""Options of optimize() that a model of an application cannot have. The key `ram` of app.toml limits all models
together.
"""
KEYS = tuple(name for name in OPTIONS if name not in NOT_HERE)
OF_APP = ("models", "concurrent", "ram", "yield", "model_cores")
OF_MODEL = ("file", "retain", "fps", "ms", "ms_measured", "pipeline")
MOST_CORES = 8


def is_app(path: Path) -> bool:
    return path.suffix.lower() == SUFFIX


def read_app(path: Path) -> App:
    """Raises UsageError for an unreadable or invalid app.toml."""
    with about(path):
        return _app(toml(read_file(path), "docs/several-models.md shows an example"), path)


def _app(document: Mapping[str, Any], path: Path) -> App:
    _known(document, (*OF_APP, *KEYS), "the application")
    models = _of_type(document.get("models", {}), dict, "models", "[models.NAME]")
    concurrent = _of_type(document.get("concurrent", []), list, "concurrent", '[["NAME", "NAME"]]')
    for group in concurrent:
        for name in _of_type(group, list, "concurrent", '[["NAME", "NAME"]]'):
            _of_type(name, str, "concurrent", '[["NAME", "NAME"]]')
    ram = document.get("ram")
    return App(
        models={name: _model(name, entry, path.parent) for name, entry in models.items()},
        concurrent=tuple(map(tuple, concurrent)),
        yields=None if "yield" not in document else units.milliseconds(document["yield"]),
        ram=None if ram is None else units.size(_of_type(ram, (int, str), "ram", "65536, or '64kB'")),
        model_cores=_cores(document.get("model_cores", 1)),
        name=stem(shown(path)),
        options=_options(document, path.parent),
    )


def _cores(value: Any) -> int:
    hint = f"model_cores = 1 to {MOST_CORES}"
    count: int = _of_type(value, int, "model_cores", hint)
    if not 1 <= count <= MOST_CORES:
        raise bad_config(f"{count} cores cannot run models", "model_cores", hint)
    return count


def _model(name: str, entry: Any, folder: Path) -> AppModel:
    where = f"models.{name}"
    entry = _of_type(entry, dict, where, f"[{where}]")
    _known(entry, (*OF_MODEL, *KEYS), where)
    if "file" not in entry:
        raise bad_config("the model's file is missing", where, f'file = "{name}.tflite"')
    retain = entry.get("retain", False)
    if not isinstance(retain, bool):
        _of_type(retain, list, f"{where}.retain", "true, or outputs: [0, 1]")
    return AppModel(
        model=folder / _of_type(entry["file"], str, f"{where}.file", f'"{name}.tflite"'),
        options=_options(entry, folder),
        retain=retain if isinstance(retain, bool) else tuple(retain),
        fps=_rate(entry, "fps", where),
        ms=_rate(entry, "ms", where),
        ms_measured=_rate(entry, "ms_measured", where),
        pipeline=_starts(entry.get("pipeline", []), f"{where}.pipeline"),
    )


def _options(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The path of a board's file in app.toml is relative to `folder`."""
    found = {name: table[name] for name in KEYS if name in table}
    if isinstance(board := found.get("board"), str) and board.endswith(own_board.SUFFIX):
        found["board"] = str(folder / board)
    return found


def _starts(value: Any, where: str) -> tuple[int | str, ...]:
    hint = 'pipeline = [12], or ["NAME"]'
    return tuple(_of_type(start, (int, str), where, hint) for start in _of_type(value, list, where, hint))


def _rate(entry: Mapping[str, Any], key: str, where: str) -> float | None:
    if key not in entry:
        return None
    value = _of_type(entry[key], (int, float), f"{where}.{key}", f"{key} = 10")
    if not 0 < value < float("inf"):
        raise bad_config(f"invalid value {value!r}: it must be above 0", f"{where}.{key}", f"{key} = 10")
    return float(value)


def _known(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in table:
        if name not in names:
            raise bad_config(f"{where} has no key '{name}'", where, one_of(name, names))


def _of_type(value: Any, wanted: type | tuple[type, ...], where: str, hint: str) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise bad_config(f"invalid value {value!r}", where, hint)
    return value
