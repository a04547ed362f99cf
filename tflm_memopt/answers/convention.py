"""Describes the convention for counting bytes of RAM."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from tflm_memopt.tflm.arena import Arena

PLANNED_FOR: Mapping[str, str] = {
    "": "",
    "any": "any kernels: where an output grows into an input, reference kernels, CMSIS-NN and ESP-NN allow it",
    "reference": "TFLM's reference kernels: with others the outputs may be wrong",
    "cmsis-nn": "CMSIS-NN: nothing overlaps where its own kernels run",
    "esp-nn": "ESP-NN: nothing overlaps where its own kernels run",
}
"""For each kernel library of `--kernels`, a text that describes what the plan of builtin operators assumes."""
_KERNELS = {"reference": "reference kernels", "cmsis-nn": "with CMSIS-NN", "esp-nn": "with ESP-NN"}


def convention(arena: Arena, *inputs: str) -> str:
    """Return the convention of a RAM figure as text: the ABI, the place of each model's input, and the kernels."""
    where = "input " + " or ".join(dict.fromkeys(map(_place, inputs or ("arena",))))
    unknown = "" if arena.exact else f", without what {', '.join(arena.unknown)} allocates, which is unknown"
    return f"{arena.abi}, {where}, TFLM {_KERNELS[arena.kernels]}{unknown}"


def _place(where: str) -> str:
    kind, _, rows = where.partition(":")
    come = f"{rows} row{'s' * (rows != '1')}"
    return {
        "arena": "in the arena",
        "stream": f"streamed {come}",
        "sliding": f"sliding by {come}",
        "external": "external (not counted)",
    }[kind]


def plain(record: Any, *without: str) -> dict[str, Any]:
    """Return a record's fields for JSON, without the fields that `without` names."""
    return {f.name: _plain(getattr(record, f.name)) for f in fields(record) if f.name not in without}


def _plain(value: Any) -> Any:
    if isinstance(value, Arena):
        return value.to_json()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return plain(value) if is_dataclass(value) else value
