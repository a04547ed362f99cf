"""Writes a rewritten model's name and arena size into a wake word's manifest for ESPHome's micro_wake_word."""

import json

from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import UsageError

MICRO = "micro"
HINT = "the .json file that is published beside the model, version 2"


def manifest(given: bytes, name: str, arena_size: int | None) -> dict[str, bytes]:
    """Return the user's manifest, in which the model's file is NAME.tflite and the arena size is the argument
    `arena_size`.

    Raises UsageError if the file is no manifest of a wake word, or if the arena size is unknown.
    """
    if arena_size is None:
        what = "the arena size is unknown, since some builtin operators' allocations are unknown"
        raise UsageError(what, code="memory_unknown", hint="`inspect` lists these operators")
    try:
        document = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise UsageError("the manifest is not a JSON document", code="bad_data", hint=HINT) from error
    micro = document.get(MICRO) if isinstance(document, dict) and document.get("type") == MICRO else None
    if not isinstance(micro, dict) or "tensor_arena_size" not in micro:
        what = f"the manifest has no section '{MICRO}' with a tensor_arena_size"
        raise UsageError(what, code="bad_data", hint=HINT)
    stem = file_stem(name)
    document |= {"model": f"{stem}.tflite", MICRO: micro | {"tensor_arena_size": arena_size}}
    return {f"{stem}.json": (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()}
