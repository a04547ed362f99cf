"""What the checker knows of packed kernels: the scratch that one firing writes (custom_ops/src/tmo_check.c).

Naive, and written anew (check.py).
"""

from __future__ import annotations

from tflm_memopt.model.packing import Packing
from tflm_memopt.model.rowop import RowOp
from tflm_memopt.plan.plan import Stage


def kernel_scratch(stage: Stage, op: RowOp, columns: int) -> int:
    """Bytes. Of a depthwise convolution a pixel; of others int16 of all values under the windows of up to 4 columns (5
    are 3 and 2), 2304 of them at the most, but nothing where single pixels become others, 8 channels at a time.
    """
    if op.packing is Packing.NONE or stage.iterative or stage.walk.groups > 1:
        return 0
    channels = op.reads[0].c
    if op.packing is Packing.DSP_DEPTHWISE:
        return channels
    if columns == 1 and op.window.kernel_h * op.window.kernel_w == 1 and channels % 8 == 0 and op.writes.c > 3:
        return 0
    values = 0
    for _ in range(op.window.kernel_h):
        values += op.window.kernel_w * channels
        while values % 4:
            values += 1
    while values % 8:
        values += 1
    pixels = 1
    while pixels < (3 if columns == 5 else min(4, columns)) and (pixels + 1) * values <= 2304:
        pixels += 1
    return pixels * values * 2
