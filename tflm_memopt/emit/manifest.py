"""The manifest of a wake word for ESPHome's micro_wake_word, with the rewritten model's file and arena."""

from __future__ import annotations

import json

from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import UsageError

MICRO = "micro"
"""The manifest's type, and the section that has the arena's size."""
HINT = "the .json file that is published beside the model, version 2"


def manifest(given: bytes, name: str, arena_size: int | None) -> dict[str, bytes]:
    """File name -> the manifest `given`, all as it is but for the model's file, NAME.tflite, and the arena to declare.

    Raises UsageError for what is no such manifest, and where the arena is not known.
    """
    if arena_size is None:
        what = "what the operators that stay builtin allocate is not known, and so no arena for the manifest"
        raise UsageError(what, code="manifest_arena", hint="inspect says which they are")
    try:
        document = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise UsageError("the manifest is no JSON document", code="manifest_json", hint=HINT) from error
    micro = document.get(MICRO) if isinstance(document, dict) and document.get("type") == MICRO else None
    if not isinstance(micro, dict) or "tensor_arena_size" not in micro:
        what = f"the manifest has no section '{MICRO}' with a tensor_arena_size"
        raise UsageError(what, code="no_manifest", hint=HINT)
    stem = file_stem(name)
    document |= {"model": f"{stem}.tflite", MICRO: micro | {"tensor_arena_size": arena_size}}
    return {f"{stem}.json": (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()}
