"""Encodes the loops of a group as loop codes of a program, and decodes loop codes."""

import struct
from typing import Any

from tflm_memopt.errors import PlanError
from tflm_memopt.format.codes import LoopCode
from tflm_memopt.plan.loops import MAX_TIMES, Iteration, Loops, Repeat


def loop_codes(loops: Loops, _: Any = None) -> bytes:
    codes = bytearray()
    for item in loops:
        if isinstance(item, Repeat):
            codes += _code(LoopCode.REPEAT, item.times) + loop_codes(item.body)
        elif item.skips:
            codes += _code(LoopCode.SKIP, item.stage, item.skips)
        elif item.stage < LoopCode.NEAR:
            codes.append(item.stage)
        else:
            codes += _code(LoopCode.FAR, item.stage)
    return bytes([*codes, LoopCode.END])


def _code(code: LoopCode, *numbers: int) -> bytes:
    if any(not 0 <= number <= MAX_TIMES for number in numbers):
        raise PlanError(f"a loop contains the number {max(numbers)}, but a program can only hold 0 to {MAX_TIMES}")
    return struct.pack(f"<B{len(numbers)}H", code, *numbers)


def loops_at(data: bytes, at: int, _: Any = None) -> Loops:
    return _loops_from(data, at)[0]


def _loops_from(data: bytes, at: int) -> tuple[Loops, int]:
    items: list[Iteration | Repeat] = []
    while (code := data[at]) != LoopCode.END:
        if code == LoopCode.REPEAT:
            body, after = _loops_from(data, at + 3)
            items.append(Repeat(struct.unpack_from("<H", data, at + 1)[0], body))
            at = after
        elif code == LoopCode.SKIP:
            items.append(Iteration(*struct.unpack_from("<HH", data, at + 1)))
            at += 5
        elif code == LoopCode.FAR:
            items.append(Iteration(*struct.unpack_from("<H", data, at + 1)))
            at += 3
        else:
            items.append(Iteration(code))
            at += 1
    return tuple(items), at + 1
