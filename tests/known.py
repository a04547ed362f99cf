"""Builds typical networks for microcontrollers with random weights, to which benchmarks/costs.py fits costs."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from memories import lstm, svdf
from models import Net, Pair
from moving import concatenation, depth_to_space, resize, split, strided_slice, transpose_conv
from streaming import Streaming

S2 = (2, 2)
SIGMOID = (1 / 256, -128)


def relu(net: Net, y: int) -> int:
    net.graph.tensors[y].quantization.zeroPoint = np.array([-128], np.int64)
    return y


def conv(net: Net, x: int, channels: int, kernel: Pair | int = 3, stride: Pair | int = 1, **options: object) -> int:
    kernel, stride = _pair(kernel), _pair(stride)
    return relu(net, net.conv2d(x, channels, kernel=kernel, stride=stride, activation="RELU", **options))  # type: ignore[arg-type]


def depthwise(net: Net, x: int, kernel: Pair | int = 3, stride: Pair | int = 1, **options: object) -> int:
    y = net.depthwise_conv2d(x, kernel=_pair(kernel), stride=_pair(stride), activation="RELU", **options)  # type: ignore[arg-type]
    return relu(net, y)


def _pair(size: Pair | int) -> Pair:
    return (size, size) if isinstance(size, int) else size


def separable(net: Net, x: int, channels: int, stride: Pair | int = 1, kernel: Pair | int = 3) -> int:
    return conv(net, depthwise(net, x, kernel, stride), channels, 1)


def inverted(net: Net, x: int, channels: int, *, expand: int = 6, kernel: int = 3, stride: int = 1) -> int:
    y = conv(net, x, expand * net.shape(x)[3], 1) if expand > 1 else x
    y = net.conv2d(depthwise(net, y, kernel, stride), channels)
    return net.add(x, y) if net.shape(x) == net.shape(y) else y


def average(net: Net, x: int) -> int:
    return net.pool(x, kernel=net.shape(x)[1:3], stride=net.shape(x)[1:3])  # type: ignore[arg-type]


def classified(net: Net, x: int, classes: int, *, pooled: bool = True) -> bytes:
    y = net.fully_connected(average(net, x) if pooled else x, classes)
    return net.model(net.softmax(y))


def classifier(net: Net, x: int, classes: int) -> bytes:
    return classified(net, x, classes, pooled=False)


def micro_speech(
    net: Net,
    shape: Sequence[int] = (1, 49, 40, 1),
    kernel: Pair = (10, 8),
    stride: Pair = S2,
    multiplier: int = 8,
    classes: int = 4,
) -> bytes:
    """Add a network like TFLM's micro_speech, whose depthwise layer has several outputs per channel."""
    return classifier(net, depthwise(net, net.input(shape), kernel, stride, multiplier=multiplier), classes)


def tiny_conv(
    net: Net, shape: Sequence[int] = (1, 49, 40, 1), channels: int = 8, kernel: Pair = (10, 8), classes: int = 12
) -> bytes:
    return classifier(net, conv(net, net.input(shape), channels, kernel, S2), classes)


def ds_cnn(
    net: Net,
    channels: int = 48,
    kernels: Sequence[int] = (3, 3, 3),
    shape: Sequence[int] = (1, 49, 10, 1),
    window: Sequence[Pair] = ((10, 4), S2),
    classes: int = 12,
) -> bytes:
    y = conv(net, net.input(shape), channels, *window)
    for kernel in kernels:
        y = separable(net, y, channels, kernel=kernel)
    return classified(net, y, classes)


def ds_cnn_large(net: Net) -> bytes:
    return ds_cnn(net, 76, (3, 3, 3, 3))


def narrow_resnet(net: Net) -> bytes:
    """Add the keyword network Res8, narrowed to 19 channels in all layers."""
    y = net.pool(conv(net, net.input((1, 40, 20, 1)), 19), kernel=(4, 3), stride=(4, 3))
    for _ in range(3):
        y = net.add(y, net.conv2d(conv(net, y, 19), 19, kernel=(3, 3)), activation="RELU")
    return classified(net, y, 12)


def svdf_keyword(
    net: Net,
    inputs: int = 40,
    layers: Sequence[tuple[int, int, int]] = ((96, 1, 8), (64, 1, 6), (48, 1, 6)),
    classes: int = 4,
) -> bytes:
    y = net.input((1, inputs), (0.05, -3))
    for units, rank, memory in layers:
        y = svdf(net, y, units, rank=rank, memory=memory, state=(0.08, 0))
    return net.model(net.softmax(net.fully_connected(y, classes, out=(0.1, 0))))


def crnn(net: Net) -> bytes:
    y = conv(net, net.input((1, 32, 20, 1)), 12, (5, 4), (2, 4), padding="SAME")
    y = net.reshape(y, (1, 16, 60))
    return net.model(net.fully_connected(lstm(net, y, 24), 4))


def wake_word(
    net: Net,
    rows: int = 3,
    channels: int = 32,
    layers: Sequence[Pair] = ((5, 48), (9, 64), (13, 64), (21, 64)),
    last: int = 9,
) -> bytes:
    streaming = Streaming(net)
    x = streaming.window("first", net.input((1, rows, 1, 40)), 5 - rows, first=-3)
    x = conv(net, x, channels, (5, 1), (rows, 1), padding="VALID")
    for k, (length, wide) in enumerate(layers):
        rows_of = streaming.window(f"s{k}", x, length - 1, first=-128)
        x = conv(net, depthwise(net, rows_of, (length, 1), padding="VALID"), wide, 1)
    y = net.fully_connected(streaming.window("last", x, last, first=-128), 1)
    return net.model(net.unary("LOGISTIC", y, out=SIGMOID))


def wake_word_v1(
    net: Net,
    bands: int = 40,
    layers: Sequence[tuple[int, Pair, int]] = ((12, (5, 4), 3), (16, (7, 3), 2), (24, (9, 3), 2)),
    kept: int = 11,
    units: int = 32,
) -> bytes:
    streaming, x = Streaming(net), net.input((1, 1, bands, 1))
    for name, (channels, kernel, stride) in zip(("frames", "b", "c"), layers, strict=False):
        x = streaming.window(name, x, kernel[0] - 1, first=-3 if name == "frames" else -128)
        x = conv(net, x, channels, kernel, (1, stride), padding="VALID")
    y = net.fully_connected(streaming.window("d", x, kept, first=-128), units, activation="RELU")
    return net.model(net.unary("LOGISTIC", net.fully_connected(relu(net, y), 1), out=SIGMOID))


def mixed_windows(
    net: Net, channels: int = 30, rows: int = 2, length: int = 4, layers: Sequence[Pair] = ((5, 9), (7, 11), (9, 15))
) -> bytes:
    streaming = Streaming(net)
    x = streaming.window("a", net.input((1, rows, 1, 40)), length - 1, first=-3)
    x = conv(net, x, channels, (length, 1), (rows, 1), padding="VALID")
    for k, lengths in enumerate(layers):
        parts = split(net, streaming.window(f"m{k}", x, lengths[1] - 1, first=-128), 3, 2)
        halves = [
            net.depthwise_conv2d(part, kernel=(length, 1), padding="VALID", out=(0.1, 0))
            for part, length in zip((streaming.last(parts[0], lengths[0]), parts[1]), lengths, strict=True)
        ]
        x = conv(net, concatenation(net, halves, 3), channels, 1)
    return net.model(net.unary("LOGISTIC", net.fully_connected(x, 1), out=SIGMOID))


def mobilenet_v1(
    net: Net,
    shape: Sequence[int] = (1, 64, 64, 3),
    layers: Sequence[Pair] = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)),
    classes: int = 2,
) -> bytes:
    y = conv(net, net.input(shape), 8, 3, 2)
    for channels, stride in layers:
        y = separable(net, y, channels, stride)
    return classified(net, y, classes)


def mobilenet_v2(
    net: Net,
    side: int = 56,
    first: int = 16,
    layers: Sequence[tuple[int, int, int, int]] = (
        (8, 6, 3, 2), (8, 6, 3, 1), (16, 6, 3, 2), (16, 6, 3, 1), (24, 6, 3, 1), (40, 6, 3, 2), (40, 6, 3, 1)
    ),
    last: int = 160,
    classes: int = 10,
) -> bytes:  # fmt: skip
    y = inverted(net, conv(net, net.input((1, side, side, 3)), first, 3, 2), 8, expand=1)
    for channels, expand, kernel, stride in layers:
        y = inverted(net, y, channels, expand=expand, kernel=kernel, stride=stride)
    return classified(net, conv(net, y, last, 1) if last else y, classes)


def searched(net: Net) -> bytes:
    layers = (16, 3, 7, 2), (16, 5, 3, 1), (24, 4, 5, 2), (24, 5, 7, 1), (40, 6, 5, 2)
    return mobilenet_v2(net, 48, 16, layers, 0, 2)


def efficient(net: Net) -> bytes:
    y = conv(net, net.input((1, 40, 40, 3)), 16, 3, 2)
    for channels, stride in ((16, 1), (24, 2), (24, 1), (32, 2)):
        wide = depthwise(net, conv(net, y, 4 * net.shape(y)[3], 1), 3, stride)
        c = net.shape(wide)[3]
        gate = net.conv2d(conv(net, net.mean(wide, (1, 2)), c // 4, 1), c)
        gate = net.unary("LOGISTIC", gate, out=SIGMOID)
        z = net.conv2d(net.binary("MUL", wide, gate, out=net.affine(wide)), channels)
        y = net.add(y, z) if net.shape(y) == net.shape(z) else z
    return classified(net, y, 10)


def wide_resnet(
    net: Net, side: int = 16, first: int = 16, layers: Sequence[Pair] = ((48, 1), (64, 2), (96, 2))
) -> bytes:
    y = conv(net, net.input((1, side, side, 3)), first)
    for channels, stride in layers:
        left = net.conv2d(conv(net, y, channels, 3, stride), channels, kernel=(3, 3))
        right = y if net.shape(y) == net.shape(left) else net.conv2d(y, channels, stride=_pair(stride))
        y = relu(net, net.add(left, right, activation="RELU"))
    return classified(net, y, 10)


def lenet(
    net: Net,
    layers: Sequence[tuple[int, int, str]] = ((6, 5, "VALID"), (16, 5, "VALID")),
    kind: str = "MAX_POOL_2D",
    units: Sequence[int] = (120, 84),
) -> bytes:
    y = net.input((1, 28, 28, 1))
    for channels, kernel, padding in layers:
        y = net.pool(conv(net, y, channels, kernel, padding=padding), kind=kind)
    return classifier(net, _dense(net, y, units), 10)


def _dense(net: Net, y: int, units: Sequence[int]) -> int:
    for count in units:
        y = relu(net, net.fully_connected(y, count, activation="RELU"))
    return y


def vgg(
    net: Net, side: int = 32, layers: Sequence[int] = (12, 24, 40), times: int = 2, units: int = 48, classes: int = 10
) -> bytes:
    y = net.input((1, side, side, 3))
    for channels in layers:
        for _ in range(times):
            y = conv(net, y, channels)
        y = net.pool(y, kind="MAX_POOL_2D")
    return classifier(net, _dense(net, y, [units]), classes)


def inception(net: Net) -> bytes:
    y = net.pool(conv(net, net.input((1, 40, 40, 3)), 16, 5, 2), kind="MAX_POOL_2D")
    for width in (8, 12):
        pooled = net.pool(y, kernel=(3, 3), stride=(1, 1), padding="SAME", kind="MAX_POOL_2D")
        branches = [
            conv(net, y, width, 1),
            conv(net, conv(net, y, width // 2, 1), width, 3),
            conv(net, conv(net, y, width // 4, 1), width // 2, 5),
            conv(net, pooled, width // 2, 1),
        ]
        y = joined(net, branches)
    return classified(net, y, 10)


def joined(net: Net, branches: Sequence[int]) -> int:
    for branch in branches[1:]:
        net.graph.tensors[branch].quantization.scale = net.graph.tensors[branches[0]].quantization.scale
    return concatenation(net, branches, 3)


def squeezenet(
    net: Net,
    shape: Sequence[int] = (1, 48, 48, 3),
    first: Pair = (24, 3),
    window: Pair = (3, 3),
    modules: Sequence[Pair] = ((8, 24), (8, 24), (12, 36)),
    classes: int = 10,
) -> bytes:
    """For each module, `modules` has the channels of the squeezing layer and the channels of each expanding layer."""
    y = net.pool(conv(net, net.input(shape), *first, 2), kernel=window, kind="MAX_POOL_2D")
    for squeeze, expand in modules:
        s = conv(net, y, squeeze, 1)
        y = joined(net, [conv(net, s, expand, 1), conv(net, s, expand, 3)])
    return classified(net, conv(net, y, classes, 1), classes)


def densenet(net: Net) -> bytes:
    y = conv(net, net.input((1, 24, 24, 3)), 16, 3, 2)
    for _ in range(4):
        y = joined(net, [y, conv(net, conv(net, y, 24, 1), 8)])
    return classified(net, y, 10)


def shuffled(net: Net) -> bytes:
    """Add layers like ShuffleNet's, but without a shuffle: half of the channels bypass the convolutions."""
    y = conv(net, net.input((1, 32, 32, 3)), 32, 3, 2)
    for _ in range(3):
        first, second = split(net, y, 3, 2)
        second = conv(net, net.depthwise_conv2d(conv(net, second, 16, 1), kernel=(3, 3)), 16, 1)
        y = joined(net, [second, first])
    return classified(net, y, 10)


def unet(net: Net) -> bytes:
    same = (0.05, -128)
    a = conv(net, conv(net, net.input((1, 32, 32, 1)), 8), 8, out=same)
    b = conv(net, net.pool(a, kind="MAX_POOL_2D"), 16, out=same)
    c = conv(net, net.pool(b, kind="MAX_POOL_2D"), 24, out=same)
    up = conv(net, concatenation(net, [resize(net, c, (16, 16)), b], 3), 16, out=same)
    up = conv(net, concatenation(net, [resize(net, up, (32, 32)), a], 3), 8)
    return net.model(net.unary("LOGISTIC", net.conv2d(up, 1), out=SIGMOID))


def super_resolution(net: Net, side: int = 24, channels: Pair = (24, 12), factor: int = 2) -> bytes:
    y = conv(net, conv(net, net.input((1, side, side, 1)), channels[0], 5), channels[1])
    return net.model(depth_to_space(net, net.conv2d(y, factor**2, kernel=(3, 3)), factor))


def upscaler(net: Net) -> bytes:
    y = conv(net, conv(net, net.input((1, 16, 16, 1)), 20, 5), 6, 1)
    y = conv(net, conv(net, conv(net, y, 6), 6), 20, 1)
    return net.model(transpose_conv(net, y, 1, kernel=(5, 5), stride=S2))


def autoencoder_2d(net: Net) -> bytes:
    y = conv(net, conv(net, net.input((1, 28, 28, 1)), 8, 3, 2), 12, 3, 2)
    y = transpose_conv(net, y, 8, kernel=(3, 3), stride=S2)
    return net.model(transpose_conv(net, y, 1, kernel=(3, 3), stride=S2))


def heads(net: Net) -> bytes:
    y = conv(net, net.input((1, 64, 64, 3)), 8, 3, 2)
    for channels, stride in ((16, 2), (24, 1), (32, 2)):
        y = separable(net, y, channels, stride)
    maps = [y, separable(net, y, 48, 2)]
    boxes, scores = [], []
    for m in maps:
        _, h, w, _ = net.shape(m)
        boxes.append(net.reshape(net.conv2d(m, 12, kernel=(3, 3), out=(0.1, 0)), (1, h * w * 3, 4)))
        scores.append(net.reshape(net.conv2d(m, 9, kernel=(3, 3), out=(0.25, 0)), (1, h * w * 3, 3)))
    score = net.unary("LOGISTIC", concatenation(net, scores, 1), out=SIGMOID)
    return net.model(concatenation(net, boxes, 1), score)


def detector(
    net: Net, shape: Sequence[int] = (1, 48, 48, 3), layers: Sequence[int] = (8, 16, 24), channels: int = 14
) -> bytes:
    y = net.input(shape)
    for wide in layers:
        y = net.conv2d(y, wide, kernel=(3, 3))
        y = net.unary("LEAKY_RELU", y, out=net.affine(y), options=schema.LeakyReluOptionsT(alpha=0.1))
        y = net.pool(y, kind="MAX_POOL_2D")
    return net.model(net.conv2d(y, channels))


def ecg(net: Net) -> bytes:
    y = conv(net, net.input((1, 1, 256, 1)), 8, (1, 7), (1, 2))
    for channels in (16, 24, 32):
        y = net.pool(conv(net, y, channels, (1, 5)), kernel=(1, 2), stride=(1, 2), kind="MAX_POOL_2D")
    return classified(net, y, 5)


def gesture(net: Net) -> bytes:
    """Add a gesture network, whose input columns are the three axes of an accelerometer."""
    y = net.pool(conv(net, net.input((1, 128, 3, 1)), 8, (4, 3)), kernel=(3, 3), stride=(3, 3), kind="MAX_POOL_2D")
    y = net.pool(conv(net, y, 16, (4, 1)), kernel=(3, 1), stride=(3, 1), kind="MAX_POOL_2D")
    return classifier(net, relu(net, net.fully_connected(y, 16, activation="RELU")), 4)


def activity(net: Net) -> bytes:
    """Add convolutions over time for six sensor axes, like Keras' Conv1D."""
    y = conv(net, net.input((1, 1, 128, 6)), 24, (1, 5))
    y = net.pool(conv(net, y, 24, (1, 5)), kernel=(1, 4), stride=(1, 4), kind="MAX_POOL_2D")
    return classifier(net, relu(net, net.fully_connected(y, 40, activation="RELU")), 6)


def tcn(net: Net) -> bytes:
    y = net.conv2d(net.input((1, 1, 96, 6)), 16)
    for dilation in (1, 2, 4, 8):
        padded = net.pad(y, ((0, 0), (0, 0), (2 * dilation, 0), (0, 0)))
        z = conv(net, padded, 16, (1, 3), dilation=(1, dilation), padding="VALID")
        y = net.add(y, net.conv2d(z, 16))
    return classified(net, y, 5)


def mnist_lstm(net: Net) -> bytes:
    y = lstm(net, net.input((1, 28, 28)), 20)
    last = strided_slice(net, y, (slice(None), slice(27, 28), slice(None)), shrink=(1,))
    return classifier(net, last, 10)


def attention(net: Net) -> bytes:
    x = net.input((1, 1, 16, 32), (0.002, 0))
    q, k, v = (net.reshape(net.conv2d(x, 32), (1, 16, 32)) for _ in range(3))
    weights = net.softmax(net.batch_matmul(q, k, adjoint=True, out=(0.03, 0)))
    y = net.reshape(net.batch_matmul(weights, v, adjoint=False, out=(0.006, 0)), (1, 1, 16, 32))
    y = net.add(x, net.conv2d(y, 32))
    y = net.add(y, net.conv2d(conv(net, y, 64, 1), 32))
    return net.model(net.fully_connected(net.mean(y, (1, 2)), 4))


def dense_autoencoder(net: Net, values: int = 320, units: Sequence[int] = (96, 96, 8, 96, 96)) -> bytes:
    return net.model(net.fully_connected(_dense(net, net.input((1, values)), units), values))


def tabular(net: Net, values: int = 30, units: Sequence[int] = (64, 33, 16), classes: int = 3) -> bytes:
    return classifier(net, _dense(net, net.input((1, values)), units), classes)


def vibration(net: Net) -> bytes:
    y = conv(net, conv(net, net.input((1, 1, 128, 3)), 12, (1, 7), (1, 2)), 8, (1, 5), (1, 2))
    y = conv(net, resize(net, y, (1, 64)), 12, (1, 5))
    return net.model(net.conv2d(resize(net, y, (1, 128)), 3, kernel=(1, 7)))


NETWORKS: Mapping[str, Callable[[Net], bytes]] = {
    each.__name__: each
    for each in (
        micro_speech, tiny_conv, ds_cnn, ds_cnn_large, narrow_resnet, svdf_keyword, crnn, wake_word, wake_word_v1,
        mixed_windows, mobilenet_v1, mobilenet_v2, searched, efficient, wide_resnet, lenet, vgg, inception, squeezenet,
        densenet, shuffled, unet, super_resolution, upscaler, autoencoder_2d, heads, detector, ecg, gesture, activity,
        tcn, mnist_lstm, attention, dense_autoencoder, tabular, vibration,
    )
}  # fmt: skip
