"""The predicted arena of TFLite_Detection_PostProcess is what the official wheel uses."""

from __future__ import annotations

import numpy as np
import pytest
from flatbuffers import flexbuffers
from models import Net
from property import oracle

from tflm_memopt.tflm.arena import predict

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


def detection(options: bytes, boxes: int = 12, classes: int = 3) -> bytes:
    """A model of the operator alone."""
    net = Net(1)
    floats = {"dtype": "FLOAT32", "affine": None}
    inputs = [net.input((1, boxes, width), **floats) for width in (4, classes + 1)]
    anchors = net.tensor((boxes, 4), data=np.ones((boxes, 4)), **floats)
    outputs = [net.tensor(shape, **floats) for shape in ((1, 5, 4), (1, 5), (1, 5), (1,))]
    net.op("CUSTOM", [*inputs, anchors], outputs, custom_code="TFLite_Detection_PostProcess")
    net.graph.operators[-1].customOptions = np.frombuffer(options, np.uint8)
    return net.model(*outputs)


@pytest.mark.parametrize(("boxes", "classes"), [(12, 3), (3, 9)])
def test_its_arena_is_the_predicted_one(boxes: int, classes: int) -> None:
    scales = dict.fromkeys(("y_scale", "x_scale", "h_scale", "w_scale"), 5.0)
    options = {"max_detections": 5, "max_classes_per_detection": 1, "num_classes": classes, **scales}
    thresholds = {"nms_score_threshold": 0.1, "nms_iou_threshold": 0.5}
    data = detection(bytes(flexbuffers.Dumps({**options, **thresholds})), boxes, classes)
    assert predict(data).exact
    oracle.assert_arena_as_predicted(data, oracle.interpreter(data))


def test_damaged_options_are_no_error() -> None:
    assert predict(detection(b"no flexbuffer")).total > 0
