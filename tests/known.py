"""Builds typical networks for microcontrollers with random weights. The script benchmarks/costs.py fits costs to the
networks of this file.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from memories import lstm, svdf
from models import Net, Pair
from moving import concatenation, depth_to_space, resize, split, strided_slice, transpose_conv
from streaming import Streaming

S2 = (2, 2)


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


def micro_speech(net: Net) -> bytes:
    return classifier(net, depthwise(net, net.input((1, 49, 40, 1)), (10, 8), S2, multiplier=8), 4)


def tiny_conv(net: Net) -> bytes:
    return classifier(net, conv(net, net.input((1, 49, 40, 1)), 8, (10, 8), S2), 12)


def ds_cnn(net: Net, channels: int = 48, groups: int = 3) -> bytes:
    y = conv(net, net.input((1, 49, 10, 1)), channels, (10, 4), S2)
    for _ in range(groups):
        y = separable(net, y, channels)
    return classified(net, y, 12)


def ds_cnn_large(net: Net) -> bytes:
    return ds_cnn(net, 76, 4)


def narrow_resnet(net: Net) -> bytes:
    """Add Res8 for keywords with 19 channels in all layers."""
    y = net.pool(conv(net, net.input((1, 40, 20, 1)), 19), kernel=(4, 3), stride=(4, 3))
    for _ in range(3):
        y = net.add(y, net.conv2d(conv(net, y, 19), 19, kernel=(3, 3)), activation="RELU")
    return classified(net, y, 12)


def svdf_keyword(net: Net) -> bytes:
    y = net.input((1, 40), (0.05, -3))
    for units, memory in ((96, 8), (64, 6), (48, 6)):
        y = svdf(net, y, units, memory=memory, state=(0.08, 0))
    return net.model(net.softmax(net.fully_connected(y, 4, out=(0.1, 0))))


def crnn(net: Net) -> bytes:
    y = conv(net, net.input((1, 32, 20, 1)), 12, (5, 4), (2, 4), padding="SAME")
    y = net.reshape(y, (1, 16, 60))
    return net.model(net.fully_connected(lstm(net, y, 24), 4))


def wake_word(net: Net) -> bytes:
    streaming = Streaming(net)
    x = net.input((1, 3, 1, 40))
    x = conv(net, streaming.window("first", x, 2, first=-3), 32, (5, 1), (3, 1), padding="VALID")
    for k, (length, channels) in enumerate(((5, 48), (9, 64), (13, 64), (21, 64))):
        rows = streaming.window(f"s{k}", x, length - 1, first=-128)
        x = conv(net, depthwise(net, rows, (length, 1), padding="VALID"), channels, 1)
    rows = streaming.window("last", x, 9, first=-128)
    y = net.fully_connected(rows, 1)
    return net.model(net.unary("LOGISTIC", y, out=(1 / 256, -128)))


def wake_word_v1(net: Net) -> bytes:
    streaming = Streaming(net)
    x = streaming.window("frames", net.input((1, 1, 40, 1)), 4, first=-3)
    x = conv(net, x, 12, (5, 4), (1, 3), padding="VALID")
    x = conv(net, streaming.window("b", x, 6, first=-128), 16, (7, 3), (1, 2), padding="VALID")
    x = conv(net, streaming.window("c", x, 8, first=-128), 24, (9, 3), (1, 2), padding="VALID")
    rows = streaming.window("d", x, 11, first=-128)
    y = relu(net, net.fully_connected(rows, 32, activation="RELU"))
    return net.model(net.unary("LOGISTIC", net.fully_connected(y, 1), out=(1 / 256, -128)))


def mixed_windows(net: Net) -> bytes:
    streaming = Streaming(net)
    x = conv(net, streaming.window("a", net.input((1, 2, 1, 40)), 3, first=-3), 30, (4, 1), (2, 1), padding="VALID")
    for k, lengths in enumerate(((5, 9), (7, 11), (9, 15))):
        parts = split(net, streaming.window(f"m{k}", x, lengths[1] - 1, first=-128), 3, 2)
        halves = []
        for part, length in zip(parts, lengths, strict=True):
            rows = part if length == lengths[1] else streaming.last(part, length)
            halves.append(net.depthwise_conv2d(rows, kernel=(length, 1), padding="VALID", out=(0.1, 0)))
        x = conv(net, concatenation(net, halves, 3), 30, 1)
    return net.model(net.unary("LOGISTIC", net.fully_connected(x, 1), out=(1 / 256, -128)))


def mobilenet_v1(net: Net) -> bytes:
    y = conv(net, net.input((1, 64, 64, 3)), 8, 3, 2)
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        y = separable(net, y, channels, stride)
    return classified(net, y, 2)


def mobilenet_v2(net: Net) -> bytes:
    y = inverted(net, conv(net, net.input((1, 56, 56, 3)), 16, 3, 2), 8, expand=1)
    for channels, stride in ((8, 2), (8, 1), (16, 2), (16, 1), (24, 1), (40, 2), (40, 1)):
        y = inverted(net, y, channels, stride=stride)
    return classified(net, conv(net, y, 160, 1), 10)


def searched(net: Net) -> bytes:
    y = conv(net, net.input((1, 48, 48, 3)), 16, 3, 2)
    y = inverted(net, y, 8, expand=1)
    for channels, expand, kernel, stride in ((16, 3, 7, 2), (16, 5, 3, 1), (24, 4, 5, 2), (24, 5, 7, 1), (40, 6, 5, 2)):
        y = inverted(net, y, channels, expand=expand, kernel=kernel, stride=stride)
    return classified(net, y, 2)


def efficient(net: Net) -> bytes:
    y = conv(net, net.input((1, 40, 40, 3)), 16, 3, 2)
    for channels, stride in ((16, 1), (24, 2), (24, 1), (32, 2)):
        wide = depthwise(net, conv(net, y, 4 * net.shape(y)[3], 1), 3, stride)
        c = net.shape(wide)[3]
        gate = net.conv2d(conv(net, net.mean(wide, (1, 2)), c // 4, 1), c)
        gate = net.unary("LOGISTIC", gate, out=(1 / 256, -128))
        z = net.conv2d(net.binary("MUL", wide, gate, out=net.affine(wide)), channels)
        y = net.add(y, z) if net.shape(y) == net.shape(z) else z
    return classified(net, y, 10)


def wide_resnet(net: Net) -> bytes:
    y = conv(net, net.input((1, 16, 16, 3)), 16)
    for channels, stride in ((48, 1), (64, 2), (96, 2)):
        left = net.conv2d(conv(net, y, channels, 3, stride), channels, kernel=(3, 3))
        right = net.conv2d(y, channels, stride=_pair(stride))
        y = relu(net, net.add(left, right, activation="RELU"))
    return classified(net, y, 10)


def lenet(net: Net) -> bytes:
    y = net.pool(conv(net, net.input((1, 28, 28, 1)), 6, 5, padding="VALID"), kind="MAX_POOL_2D")
    y = net.pool(conv(net, y, 16, 5, padding="VALID"), kind="MAX_POOL_2D")
    y = relu(net, net.fully_connected(y, 120, activation="RELU"))
    y = relu(net, net.fully_connected(y, 84, activation="RELU"))
    return classifier(net, y, 10)


def vgg(net: Net) -> bytes:
    y = net.input((1, 32, 32, 3))
    for channels in (12, 24, 40):
        y = net.pool(conv(net, conv(net, y, channels), channels), kind="MAX_POOL_2D")
    return classifier(net, relu(net, net.fully_connected(y, 48, activation="RELU")), 10)


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


def squeezenet(net: Net) -> bytes:
    y = net.pool(conv(net, net.input((1, 48, 48, 3)), 24, 3, 2), kernel=(3, 3), kind="MAX_POOL_2D")
    for squeeze, expand in ((8, 24), (8, 24), (12, 36)):
        s = conv(net, y, squeeze, 1)
        y = joined(net, [conv(net, s, expand, 1), conv(net, s, expand, 3)])
    return classified(net, conv(net, y, 10, 1), 10)


def densenet(net: Net) -> bytes:
    y = conv(net, net.input((1, 24, 24, 3)), 16, 3, 2)
    for _ in range(4):
        y = joined(net, [y, conv(net, conv(net, y, 24, 1), 8)])
    return classified(net, y, 10)


def shuffled(net: Net) -> bytes:
    """Add layers like ShuffleNet's without the shuffle, in which half of the channels bypass the convolutions."""
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
    return net.model(net.unary("LOGISTIC", net.conv2d(up, 1), out=(1 / 256, -128)))


def super_resolution(net: Net) -> bytes:
    y = conv(net, net.input((1, 24, 24, 1)), 24, 5)
    y = net.conv2d(conv(net, y, 12), 4, kernel=(3, 3))
    return net.model(depth_to_space(net, y, 2))


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
    score = net.unary("LOGISTIC", concatenation(net, scores, 1), out=(1 / 256, -128))
    return net.model(concatenation(net, boxes, 1), score)


def detector(net: Net) -> bytes:
    y = net.input((1, 48, 48, 3))
    for channels in (8, 16, 24):
        y = net.conv2d(y, channels, kernel=(3, 3))
        y = net.unary("LEAKY_RELU", y, out=net.affine(y), options=schema.LeakyReluOptionsT(alpha=0.1))
        y = net.pool(y, kind="MAX_POOL_2D")
    return net.model(net.conv2d(y, 14))


def ecg(net: Net) -> bytes:
    y = conv(net, net.input((1, 1, 256, 1)), 8, (1, 7), (1, 2))
    for channels in (16, 24, 32):
        y = net.pool(conv(net, y, channels, (1, 5)), kernel=(1, 2), stride=(1, 2), kind="MAX_POOL_2D")
    return classified(net, y, 5)


def gesture(net: Net) -> bytes:
    """Add a gesture network for an accelerometer, whose three axes are the columns."""
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


def dense_autoencoder(net: Net) -> bytes:
    y = net.input((1, 320))
    for units in (96, 96, 8, 96, 96):
        y = relu(net, net.fully_connected(y, units, activation="RELU"))
    return net.model(net.fully_connected(y, 320))


def tabular(net: Net) -> bytes:
    y = net.input((1, 30))
    for units in (64, 33, 16):
        y = relu(net, net.fully_connected(y, units, activation="RELU"))
    return classifier(net, y, 3)


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
