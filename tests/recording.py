"""Predicts the arena of the wheel's RecordingMicroInterpreter, which has larger structs than MicroInterpreter."""

import pytest

from tflm_memopt.tflm.arena import Arena, predict
from tflm_memopt.tflm.structs import STRUCTS, Struct

LARGER = {
    "SingleArenaBufferAllocator": Struct(
        (52, 4), (104, 8), "arena_allocator/recording_single_arena_buffer_allocator.h"
    ),
    "MicroAllocator": Struct((124, 4), (272, 8), "recording_micro_allocator.h"),
}


def predict_recording(model: bytes) -> Arena:
    with pytest.MonkeyPatch.context() as patch:
        for name, struct in LARGER.items():
            patch.setitem(STRUCTS, name, struct)
        return predict(model, "lp64")
