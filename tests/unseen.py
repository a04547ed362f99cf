"""Builds networks of the kinds that run on microcontrollers. The networks measure the error of instruction estimates,
so no estimate may be fitted to them.
"""

from collections.abc import Callable, Mapping

from ai_edge_litert import schema_py_generated as schema
from known import S2, classified, classifier, conv, depthwise, inverted, joined, relu, separable
from memories import lstm, svdf
from models import Net
from moving import concatenation, depth_to_space, resize, split, strided_slice, transpose_conv
from streaming import Streaming

SIGMOID = (1 / 256, -128)


def speech_multiplier(net: Net) -> bytes:
    """Add a network like TFLM's micro_speech, with a depthwise layer that computes several channels from one."""
    return classifier(net, depthwise(net, net.input((1, 61, 32, 1)), (12, 6), (3, 2), multiplier=6), 5)


def speech_conv(net: Net) -> bytes:
    """Add a network like TensorFlow's tiny_conv, with one wide window and a dense layer."""
    return classifier(net, conv(net, net.input((1, 40, 32, 1)), 10, (7, 9), S2), 8)


def speech_two_convs(net: Net) -> bytes:
    y = net.pool(conv(net, net.input((1, 50, 16, 1)), 20, (8, 6)), kind="MAX_POOL_2D")
    return classifier(net, conv(net, y, 20, (6, 3)), 12)


def keyword_separable(net: Net) -> bytes:
    y = conv(net, net.input((1, 62, 13, 1)), 36, (8, 5), (2, 3))
    for kernel in (3, 5, 3):
        y = separable(net, y, 36, kernel=kernel)
    return classified(net, y, 8)


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


def keyword_memories(net: Net) -> bytes:
    y = net.input((1, 32), (0.05, -3))
    for units, rank, memory in ((80, 1, 10), (64, 2, 4), (32, 1, 7)):
        y = svdf(net, y, units, rank=rank, memory=memory, state=(0.08, 0))
    return net.model(net.softmax(net.fully_connected(y, 6, out=(0.1, 0))))


def keyword_lstm(net: Net) -> bytes:
    y = conv(net, net.input((1, 24, 20, 1)), 10, (3, 4), (2, 4))
    y = lstm(net, net.reshape(y, (1, 12, 50)), 16)
    last = strided_slice(net, y, (slice(None), slice(11, 12), slice(None)), shrink=(1,))
    return classifier(net, last, 6)


def spectrogram_mobilenet(net: Net) -> bytes:
    """Add YAMNet's layers for a smaller spectrogram."""
    y = conv(net, net.input((1, 48, 32, 1)), 8, 3, 2)
    for channels, stride in ((16, 1), (24, 2), (24, 1), (48, 2), (48, 1), (96, 2)):
        y = separable(net, y, channels, stride)
    return classified(net, y, 20)


def streaming_word(net: Net) -> bytes:
    streaming = Streaming(net)
    x = conv(net, streaming.window("first", net.input((1, 2, 1, 40)), 3, first=-3), 24, (5, 1), (2, 1), padding="VALID")
    for k, (length, channels) in enumerate(((7, 40), (11, 40), (15, 56))):
        rows = streaming.window(f"s{k}", x, length - 1, first=-128)
        x = conv(net, depthwise(net, rows, (length, 1), padding="VALID"), channels, 1)
    y = net.fully_connected(streaming.window("last", x, 5, first=-128), 1)
    return net.model(net.unary("LOGISTIC", y, out=SIGMOID))


def streaming_halves(net: Net) -> bytes:
    streaming = Streaming(net)
    x = conv(net, streaming.window("a", net.input((1, 1, 1, 40)), 2, first=-3), 32, (3, 1), padding="VALID")
    for k, lengths in enumerate(((3, 7), (5, 13))):
        parts = split(net, streaming.window(f"m{k}", x, lengths[1] - 1, first=-128), 3, 2)
        rows = [streaming.last(parts[0], lengths[0]), parts[1]]
        halves = [
            net.depthwise_conv2d(part, kernel=(length, 1), padding="VALID", out=(0.1, 0))
            for part, length in zip(rows, lengths, strict=True)
        ]
        x = conv(net, concatenation(net, halves, 3), 32, 1)
    return net.model(net.unary("LOGISTIC", net.fully_connected(x, 1), out=SIGMOID))


def streaming_bands(net: Net) -> bytes:
    streaming = Streaming(net)
    x = streaming.window("frames", net.input((1, 1, 32, 1)), 3, first=-3)
    x = conv(net, x, 10, (4, 5), (1, 2), padding="VALID")
    x = conv(net, streaming.window("b", x, 4, first=-128), 20, (5, 3), (1, 2), padding="VALID")
    rows = streaming.window("d", x, 9, first=-128)
    y = relu(net, net.fully_connected(rows, 24, activation="RELU"))
    return net.model(net.unary("LOGISTIC", net.fully_connected(y, 1), out=SIGMOID))


def person(net: Net) -> bytes:
    """Add MobileNetV1 with a quarter of the channels, for grey images."""
    y = conv(net, net.input((1, 48, 48, 1)), 8, 3, 2)
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 1)):
        y = separable(net, y, channels, stride)
    return classified(net, y, 2)


def bottlenecks(net: Net) -> bytes:
    y = inverted(net, conv(net, net.input((1, 40, 40, 3)), 8, 3, 2), 8, expand=1)
    for channels, expand, stride in ((12, 4, 2), (12, 6, 1), (20, 6, 2), (20, 3, 1), (32, 6, 1)):
        y = inverted(net, y, channels, expand=expand, stride=stride)
    return classified(net, conv(net, y, 120, 1), 5)


def large_windows(net: Net) -> bytes:
    y = inverted(net, conv(net, net.input((1, 32, 32, 3)), 12, 3, 2), 8, expand=1)
    for channels, kernel, stride in ((16, 5, 1), (16, 7, 2), (24, 7, 1), (32, 5, 2)):
        y = inverted(net, y, channels, expand=4, kernel=kernel, stride=stride)
    return classified(net, y, 3)


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


def narrow_shortcuts(net: Net) -> bytes:
    y = conv(net, net.input((1, 24, 24, 3)), 12)
    for channels, stride in ((12, 1), (24, 2), (36, 2)):
        left = net.conv2d(conv(net, y, channels, 3, stride), channels, kernel=(3, 3))
        right = y if stride == 1 else net.conv2d(y, channels, stride=(stride, stride))
        y = relu(net, net.add(left, right, activation="RELU"))
    return classified(net, y, 10)


def digits(net: Net) -> bytes:
    """Add a network like LeNet, with average pools."""
    y = net.pool(conv(net, net.input((1, 28, 28, 1)), 8, 3), kernel=(2, 2), stride=S2)
    y = net.pool(conv(net, y, 12, 5, padding="VALID"), kernel=(2, 2), stride=S2)
    y = relu(net, net.fully_connected(y, 64, activation="RELU"))
    return classifier(net, y, 10)


def plain(net: Net) -> bytes:
    y = net.input((1, 40, 40, 3))
    for channels in (8, 16, 32):
        y = net.pool(conv(net, y, channels), kind="MAX_POOL_2D")
    return classifier(net, relu(net, net.fully_connected(y, 32, activation="RELU")), 4)


def branches(net: Net) -> bytes:
    y = conv(net, net.input((1, 28, 28, 3)), 12, 3, 2)
    for width in (6, 10, 12):
        pooled = net.pool(y, kernel=(3, 3), stride=(1, 1), padding="SAME")
        paths = [conv(net, y, width, 1), conv(net, conv(net, y, width, 1), 2 * width, 3), conv(net, pooled, width, 1)]
        y = joined(net, paths)
    return classified(net, y, 6)


def fire(net: Net) -> bytes:
    """Add SqueezeNet's modules."""
    y = net.pool(conv(net, net.input((1, 40, 40, 1)), 16, 5, 2), kind="MAX_POOL_2D")
    for squeeze, expand in ((6, 16), (10, 20)):
        s = conv(net, y, squeeze, 1)
        y = joined(net, [conv(net, s, expand, 1), conv(net, s, expand, 3)])
    return classified(net, conv(net, y, 8, 1), 8)


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


def upscaled_by_three(net: Net) -> bytes:
    """Add an ESPCN, which computes a larger image by DEPTH_TO_SPACE."""
    y = conv(net, conv(net, net.input((1, 20, 20, 1)), 16, 5), 16)
    return net.model(depth_to_space(net, net.conv2d(y, 9, kernel=(3, 3)), 3))


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


def leaky_grid(net: Net) -> bytes:
    y = net.input((1, 40, 32, 3))
    for channels in (10, 20, 30):
        y = net.conv2d(y, channels, kernel=(3, 3))
        y = net.unary("LEAKY_RELU", y, out=net.affine(y), options=schema.LeakyReluOptionsT(alpha=0.1))
        y = net.pool(y, kind="MAX_POOL_2D")
    return net.model(net.conv2d(y, 18))


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


def machine(net: Net) -> bytes:
    y = net.input((1, 200))
    for units in (64, 64, 16, 64):
        y = relu(net, net.fully_connected(y, units, activation="RELU"))
    return net.model(net.fully_connected(y, 200))


def sensors(net: Net) -> bytes:
    y = relu(net, net.fully_connected(net.input((1, 18)), 40, activation="RELU"))
    return classifier(net, relu(net, net.fully_connected(y, 20, activation="RELU")), 7)


def interpolated(net: Net) -> bytes:
    y = conv(net, conv(net, net.input((1, 16, 16, 2)), 8), 12, 3, 2)
    y = conv(net, resize(net, y, (16, 16), bilinear=True), 8)
    return net.model(net.conv2d(y, 2, kernel=(3, 3)))


NETWORKS: Mapping[str, Callable[[Net], bytes]] = {
    each.__name__: each
    for each in (
        speech_multiplier, speech_conv, speech_two_convs, keyword_separable, keyword_in_time, keyword_bands,
        keyword_memories, keyword_lstm, spectrogram_mobilenet, streaming_word, streaming_halves, streaming_bands,
        person, bottlenecks, large_windows, hard_swish, narrow_shortcuts, digits, plain, branches, fire, grown,
        segments, upscaled_by_three, repeated_pixels, centroids, boxes, leaky_grid, heartbeat, motion, dilated,
        rows_lstm, two_heads, machine, sensors, interpolated,
    )
}  # fmt: skip


def network(name: str) -> bytes:
    return NETWORKS[name](Net(1))
