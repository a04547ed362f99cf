"""Builds networks of kinds that run on microcontrollers, to measure the error of instruction estimates. Never fit an
estimate to the networks.
"""

from collections.abc import Callable, Mapping

import known
from known import S2, SIGMOID, classified, classifier, conv, depthwise, inverted, joined, relu, separable
from memories import lstm
from models import Net
from moving import concatenation, resize, strided_slice, transpose_conv


def speech_two_convs(net: Net) -> bytes:
    y = net.pool(conv(net, net.input((1, 50, 16, 1)), 20, (8, 6)), kind="MAX_POOL_2D")
    return classifier(net, conv(net, y, 20, (6, 3)), 12)


def keyword_in_time(net: Net) -> bytes:
    """Add a TC-ResNet, whose channels are frequencies, and whose windows run along time."""
    y = conv(net, net.input((1, 80, 1, 40)), 16, (3, 1))
    for channels in (24, 32, 48):
        z = net.conv2d(conv(net, y, channels, (9, 1), (2, 1)), channels, kernel=(9, 1))
        y = relu(net, net.add(z, net.conv2d(y, channels, stride=(2, 1)), activation="RELU"))
    return classified(net, y, 12)


def keyword_bands(net: Net) -> bytes:
    y = conv(net, net.input((1, 40, 40, 1)), 12, 5, (1, 2))
    for channels in (12, 20):
        z = net.depthwise_conv2d(conv(net, y, channels, 1), kernel=(1, 3))
        z = net.conv2d(depthwise(net, z, (5, 1)), channels)
        y = net.add(y, z) if net.shape(y) == net.shape(z) else net.pool(z, kernel=(2, 2), stride=S2)
    return classified(net, y, 10)


def keyword_lstm(net: Net) -> bytes:
    y = conv(net, net.input((1, 24, 20, 1)), 10, (3, 4), (2, 4))
    y = lstm(net, net.reshape(y, (1, 12, 50)), 16)
    last = strided_slice(net, y, (slice(None), slice(11, 12), slice(None)), shrink=(1,))
    return classifier(net, last, 6)


def hard_swish(net: Net) -> bytes:
    """Add layers of MobileNetV3, with gates and HARD_SWISH."""
    y = net.conv2d(net.input((1, 32, 32, 3)), 16, kernel=(3, 3), stride=S2)
    y = net.unary("HARD_SWISH", y, out=net.affine(y))
    for channels, stride in ((16, 2), (24, 1), (32, 2)):
        wide = net.depthwise_conv2d(conv(net, y, 64, 1), kernel=(3, 3), stride=(stride, stride))
        wide = net.unary("HARD_SWISH", wide, out=net.affine(wide))
        gate = net.conv2d(conv(net, net.mean(wide, (1, 2)), 16, 1), 64)
        gate = net.unary("LOGISTIC", gate, out=SIGMOID)
        y = net.conv2d(net.binary("MUL", wide, gate, out=net.affine(wide)), channels)
    return classified(net, y, 10)


def branches(net: Net) -> bytes:
    y = conv(net, net.input((1, 28, 28, 3)), 12, 3, 2)
    for width in (6, 10, 12):
        pooled = net.pool(y, kernel=(3, 3), stride=(1, 1), padding="SAME")
        paths = [conv(net, y, width, 1), conv(net, conv(net, y, width, 1), 2 * width, 3), conv(net, pooled, width, 1)]
        y = joined(net, paths)
    return classified(net, y, 6)


def grown(net: Net) -> bytes:
    """Add a DenseNet without bottlenecks."""
    y = conv(net, net.input((1, 20, 20, 3)), 10, 3, 2)
    for _ in range(3):
        y = joined(net, [y, conv(net, y, 6)])
    return classified(net, conv(net, y, 20, 1), 4)


def segments(net: Net) -> bytes:
    """Add a U-Net for two classes, with transposed convolutions."""
    same = (0.05, -128)
    a = conv(net, net.input((1, 24, 24, 3)), 10, out=same)
    b = conv(net, net.pool(a, kind="MAX_POOL_2D"), 20, out=same)
    c = conv(net, net.pool(b, kind="MAX_POOL_2D"), 32, out=same)
    for skip, channels in ((b, 20), (a, 10)):
        up = transpose_conv(net, c, channels, kernel=(2, 2), stride=S2)
        net.graph.tensors[up].quantization = net.graph.tensors[skip].quantization
        c = conv(net, concatenation(net, [up, skip], 3), channels, out=same)
    return net.model(net.softmax(net.conv2d(c, 2)))


def repeated_pixels(net: Net) -> bytes:
    y = conv(net, conv(net, net.input((1, 24, 24, 3)), 12, 3, 2), 16, 3, 2)
    y = conv(net, resize(net, y, (12, 12)), 12)
    return net.model(net.conv2d(resize(net, y, (24, 24)), 3, kernel=(3, 3)))


def centroids(net: Net) -> bytes:
    y = inverted(net, conv(net, net.input((1, 48, 48, 1)), 16, 3, 2), 8, expand=1)
    for channels, stride in ((8, 2), (8, 1), (16, 2)):
        y = inverted(net, y, channels, stride=stride)
    return net.model(net.softmax(net.conv2d(conv(net, y, 32, 1), 3)))


def boxes(net: Net) -> bytes:
    y = conv(net, net.input((1, 40, 40, 3)), 8, 3, 2)
    for channels, stride in ((16, 2), (32, 1)):
        y = separable(net, y, channels, stride)
    found = []
    for m in (y, separable(net, y, 40, 2)):
        _, h, w, _ = net.shape(m)
        found.append(net.reshape(net.conv2d(m, 14, kernel=(3, 3), out=(0.1, 0)), (1, h * w * 2, 7)))
    return net.model(concatenation(net, found, 1))


def heartbeat(net: Net) -> bytes:
    y = net.input((1, 1, 188, 1))
    for channels, length in ((12, 9), (12, 5), (24, 5)):
        y = net.pool(conv(net, y, channels, (1, length)), kernel=(1, 2), stride=(1, 2), kind="MAX_POOL_2D")
    return classifier(net, relu(net, net.fully_connected(y, 32, activation="RELU")), 5)


def motion(net: Net) -> bytes:
    y = conv(net, net.input((1, 1, 96, 9)), 20, (1, 7), (1, 2))
    for channels in (28, 36):
        y = conv(net, depthwise(net, y, (1, 5), (1, 2)), channels, 1)
    return classified(net, y, 6)


def dilated(net: Net) -> bytes:
    y = net.conv2d(net.input((1, 1, 80, 3)), 12)
    for dilation in (1, 3, 9):
        z = conv(net, y, 12, (1, 3), dilation=(1, dilation))
        y = net.add(y, net.conv2d(z, 12))
    return classified(net, y, 4)


def rows_lstm(net: Net) -> bytes:
    y = lstm(net, net.input((1, 20, 16)), 28)
    return net.model(net.softmax(net.fully_connected(net.reshape(y, (1, 20 * 28)), 8)))


def two_heads(net: Net) -> bytes:
    x = net.input((1, 1, 24, 16), (0.002, 0))
    for _ in range(2):
        q, k, v = (net.reshape(net.conv2d(x, 16), (1, 24, 16)) for _ in range(3))
        weights = net.softmax(net.batch_matmul(q, k, adjoint=True, out=(0.03, 0)))
        y = net.reshape(net.batch_matmul(weights, v, adjoint=False, out=(0.006, 0)), (1, 1, 24, 16))
        x = net.add(x, net.conv2d(y, 16))
    return net.model(net.fully_connected(net.mean(x, (1, 2)), 3))


def interpolated(net: Net) -> bytes:
    y = conv(net, conv(net, net.input((1, 16, 16, 2)), 8), 12, 3, 2)
    y = conv(net, resize(net, y, (16, 16), bilinear=True), 8)
    return net.model(net.conv2d(y, 2, kernel=(3, 3)))


NETWORKS: Mapping[str, Callable[[Net], bytes]] = {
    "speech_multiplier": lambda net: known.micro_speech(net, (1, 61, 32, 1), (12, 6), (3, 2), 6, 5),
    "speech_conv": lambda net: known.tiny_conv(net, (1, 40, 32, 1), 10, (7, 9), 8),
    "speech_two_convs": speech_two_convs,
    "keyword_separable": lambda net: known.ds_cnn(net, 36, (3, 5, 3), (1, 62, 13, 1), ((8, 5), (2, 3)), 8),
    "keyword_in_time": keyword_in_time,
    "keyword_bands": keyword_bands,
    "keyword_memories": lambda net: known.svdf_keyword(net, 32, ((80, 1, 10), (64, 2, 4), (32, 1, 7)), 6),
    "keyword_lstm": keyword_lstm,
    "spectrogram_mobilenet": lambda net: known.mobilenet_v1(
        net, (1, 48, 32, 1), ((16, 1), (24, 2), (24, 1), (48, 2), (48, 1), (96, 2)), 20
    ),
    "streaming_word": lambda net: known.wake_word(net, 2, 24, ((7, 40), (11, 40), (15, 56)), 5),
    "streaming_halves": lambda net: known.mixed_windows(net, 32, 1, 3, ((3, 7), (5, 13))),
    "streaming_bands": lambda net: known.wake_word_v1(net, 32, ((10, (4, 5), 2), (20, (5, 3), 2)), 9, 24),
    "person": lambda net: known.mobilenet_v1(
        net, (1, 48, 48, 1), ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 1))
    ),
    "bottlenecks": lambda net: known.mobilenet_v2(
        net, 40, 8, ((12, 4, 3, 2), (12, 6, 3, 1), (20, 6, 3, 2), (20, 3, 3, 1), (32, 6, 3, 1)), 120, 5
    ),
    "large_windows": lambda net: known.mobilenet_v2(
        net, 32, 12, ((16, 4, 5, 1), (16, 4, 7, 2), (24, 4, 7, 1), (32, 4, 5, 2)), 0, 3
    ),
    "hard_swish": hard_swish,
    "narrow_shortcuts": lambda net: known.wide_resnet(net, 24, 12, ((12, 1), (24, 2), (36, 2))),
    "digits": lambda net: known.lenet(net, ((8, 3, "SAME"), (12, 5, "VALID")), "AVERAGE_POOL_2D", (64,)),
    "plain": lambda net: known.vgg(net, 40, (8, 16, 32), 1, 32, 4),
    "branches": branches,
    "fire": lambda net: known.squeezenet(net, (1, 40, 40, 1), (16, 5), S2, ((6, 16), (10, 20)), 8),
    "grown": grown,
    "segments": segments,
    "upscaled_by_three": lambda net: known.super_resolution(net, 20, (16, 16), 3),
    "repeated_pixels": repeated_pixels,
    "centroids": centroids,
    "boxes": boxes,
    "leaky_grid": lambda net: known.detector(net, (1, 40, 32, 3), (10, 20, 30), 18),
    "heartbeat": heartbeat,
    "motion": motion,
    "dilated": dilated,
    "rows_lstm": rows_lstm,
    "two_heads": two_heads,
    "machine": lambda net: known.dense_autoencoder(net, 200, (64, 64, 16, 64)),
    "sensors": lambda net: known.tabular(net, 18, (40, 20), 7),
    "interpolated": interpolated,
}
"""Some networks have the layers of a network in known.py, with other sizes."""


def network(name: str) -> bytes:
    return NETWORKS[name](Net(1))
