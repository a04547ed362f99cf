"""For TFLM's own custom operators, the predicted arena equals the arena in the official wheel."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from models import Net
from property import oracle

from tflm_memopt.tflm import custom_memory
from tflm_memopt.tflm.arena import predict

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

Tensors = Sequence[tuple[tuple[int, ...], str]]
INT16, INT32, FLOAT32 = custom_memory.INT16, custom_memory.INT32, custom_memory.FLOAT32
SMOOTHING = dict.fromkeys(
    ("smoothing", "one_minus_smoothing", "alternate_smoothing", "alternate_one_minus_smoothing",
     "min_signal_remaining", "smoothing_bits", "spectral_subtraction_bits"), 1,
)  # fmt: skip


def model(code: str, options: bytes, inputs: Tensors, outputs: Tensors) -> bytes:
    net = Net(1)
    given = [net.input(shape, None, dtype=dtype) for shape, dtype in inputs]
    made = [net.tensor(shape, dtype, None) for shape, dtype in outputs]
    net.op("CUSTOM", given, made, custom_code=code)
    net.graph.operators[-1].customOptions = np.frombuffer(options, np.uint8)
    return net.model(*made)


def signal(name: str, options: Mapping[str, Any], inputs: Tensors, outputs: Tensors) -> bytes:
    return model(f"Signal{name}", bytes(flexbuffers.Dumps(dict(options))), inputs, outputs)


def fft(name: str, kind: int, length: int, frames: int = 1) -> bytes:
    dtype = {INT16: "INT16", INT32: "INT32", FLOAT32: "FLOAT32"}[kind]
    ends = [((frames, length), dtype)], [((frames, length + 2), dtype)]
    return signal(name, {"T": kind, "fft_length": length}, *(ends if name == "Rfft" else ends[::-1]))


def words(dtype: str, *shapes: tuple[int, ...]) -> Tensors:
    return [(shape, dtype) for shape in shapes]


SIGNAL = {
    "delay": signal("Delay", {"delay_length": 5}, words("INT16", (3, 8)), words("INT16", (3, 8))),
    "energy": signal("Energy", {"start_index": 0, "end_index": 4}, words("INT16", (16,)), words("UINT32", (8,))),
    "auto scale": signal("FftAutoScale", {}, words("INT16", (9,)), [((9,), "INT16"), ((), "INT32")]),
    "filter bank": signal(
        "FilterBank", {"num_channels": 3}, [((20,), "UINT32"), *words("INT16", (9,), (9,), (4,), (4,), (4,))],
        words("UINT64", (3,)),
    ),
    "log": signal(
        "FilterBankLog", {"input_correction_bits": 3, "output_scale": 64}, words("UINT32", (7,)), words("INT16", (7,))
    ),
    "subtraction": signal(
        "FilterBankSpectralSubtraction", {**SMOOTHING, "clamping": True, "num_channels": 7}, words("UINT32", (7,)),
        words("UINT32", (7,), (7,)),
    ),
    "square root": signal("FilterBankSquareRoot", {}, [((7,), "UINT64"), ((), "INT32")], words("UINT32", (7,))),
    "framer": signal(
        "Framer", {"frame_size": 10, "frame_step": 4, "prefill": True}, words("INT16", (2, 8)),
        [((2, 2, 10), "INT16"), ((), "BOOL")],
    ),
    "pcan": signal(
        "PCAN", {"snr_shift": 6}, [*words("UINT32", (7,), (7,)), ((124,), "INT16")], words("UINT32", (7,))
    ),
    "stacker": signal(
        "Stacker",
        {"num_channels": 5, "stacker_left_context": 1, "stacker_right_context": 2, "stacker_step": 2},
        words("INT16", (5,)), [((20,), "INT16"), ((), "BOOL")],
    ),
    "window": signal("Window", {"shift": 4}, words("INT16", (2, 8), (8,)), words("INT16", (2, 8))),
    **{
        f"overlap add {kind}": signal(
            "OverlapAdd", {"T": kind, "frame_step": 3}, words(dtype, (2, 4, 9)), words(dtype, (2, 12))
        )
        for kind, dtype in ((INT16, "INT16"), (FLOAT32, "FLOAT32"))
    },
    **{
        f"{name} {kind} {length}": fft(name, kind, length, frames)
        for name in ("Rfft", "Irfft")
        for kind, length, frames in ((INT16, 512, 1), (INT16, 6, 2), (INT32, 64, 1), (FLOAT32, 30, 1))
    },
}  # fmt: skip


@pytest.mark.parametrize("data", SIGNAL.values(), ids=SIGNAL)
def test_arena_of_a_signal_operator(data: bytes) -> None:
    assert predict(data).exact
    oracle.assert_arena_as_predicted(data, oracle.interpreter(data))


def detection(options: bytes, boxes: int = 12, classes: int = 3) -> bytes:
    net = Net(1)
    floats = {"dtype": "FLOAT32", "affine": None}
    inputs = [net.input((1, boxes, width), **floats) for width in (4, classes + 1)]
    anchors = net.tensor((boxes, 4), data=np.ones((boxes, 4)), **floats)
    outputs = [net.tensor(shape, **floats) for shape in ((1, 5, 4), (1, 5), (1, 5), (1,))]
    net.op("CUSTOM", [*inputs, anchors], outputs, custom_code="TFLite_Detection_PostProcess")
    net.graph.operators[-1].customOptions = np.frombuffer(options, np.uint8)
    return net.model(*outputs)


@pytest.mark.parametrize(("boxes", "classes"), [(12, 3), (3, 9)])
def test_arena_of_detection(boxes: int, classes: int) -> None:
    scales = dict.fromkeys(("y_scale", "x_scale", "h_scale", "w_scale"), 5.0)
    options = {"max_detections": 5, "max_classes_per_detection": 1, "num_classes": classes, **scales}
    thresholds = {"nms_score_threshold": 0.1, "nms_iou_threshold": 0.5}
    data = detection(bytes(flexbuffers.Dumps({**options, **thresholds})), boxes, classes)
    assert predict(data).exact
    oracle.assert_arena_as_predicted(data, oracle.interpreter(data))


@pytest.mark.parametrize("options", [b"", b"no flexbuffer", bytes(flexbuffers.Dumps({}))])
def test_damaged_options_are_no_error(options: bytes) -> None:
    assert predict(detection(options)).total > 0
    assert predict(model("SignalRfft", options, words("INT16", (8,)), words("INT16", (10,)))).total > 0


@pytest.mark.parametrize("coding", range(3))
@pytest.mark.parametrize("zero_points", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_arena_of_decoders(coding: int, zero_points: list[int]) -> None:
    net = Net(1)
    data = net.tensor((64,), "UINT8", None, data=np.zeros(64, np.uint8))
    header = np.zeros(256, np.uint8)
    header[[0, 1, 4, 5]] = coding, 1, 1, 1
    ancillary = net.tensor((256,), "UINT8", None, data=header)
    decoded = [net.tensor((4, 6), scales=[0.1] * 4) for _ in range(2)]
    for tensor in decoded:
        net.graph.tensors[tensor].quantization.zeroPoint = np.array(zero_points)
    net.op("CUSTOM", [data, ancillary] * 2, decoded, custom_code="TFLM_DECODE")
    made = net.model(*decoded)
    assert predict(made).exact
    oracle.assert_arena_as_predicted(made, oracle.interpreter(made))
