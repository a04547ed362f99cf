"""A zoo of small Keras networks, random weights, converted to int8: `python benchmarks/zoo_models.py FOLDER [NAME...]`.

Needs TensorFlow (extra `train`). Their outputs have no meaning, only the operators that TensorFlow's converter creates
for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

layers = tf.keras.layers
Tensor = Any
SEED = 7


def conv(x: Tensor, channels: int, kernel: int = 3, stride: int = 1, activation: str | None = "relu6") -> Tensor:
    """Add convolution, batch normalisation and activation."""
    x = layers.Conv2D(channels, kernel, stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return _activation(x, activation)


def depthwise(x: Tensor, kernel: int = 3, stride: int = 1, activation: str | None = "relu6") -> Tensor:
    x = layers.DepthwiseConv2D(kernel, stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return _activation(x, activation)


def _activation(x: Tensor, name: str | None) -> Tensor:
    match name:
        case "relu6":
            return layers.ReLU(6.0)(x)
        case "hard_swish":
            return layers.Multiply()([x, layers.Rescaling(1 / 6)(layers.ReLU(6.0)(layers.Rescaling(1.0, 3.0)(x)))])
        case None:
            return x
    return layers.Activation(name)(x)


def _head(x: Tensor, classes: int = 10) -> Tensor:
    return layers.Dense(classes, activation="softmax")(layers.GlobalAveragePooling2D()(x))


def mobilenet_v1() -> Any:
    x = source = layers.Input((64, 64, 3), batch_size=1)
    x = conv(x, 8, 3, 2)
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        x = conv(depthwise(x, 3, stride), channels, 1)
    return tf.keras.Model(source, _head(x))


def _bottleneck(
    x: Tensor, channels: int, wide: int, kernel: int, stride: int, activation: str, squeeze: bool
) -> Tensor:
    y = conv(x, wide * x.shape[-1], 1, 1, activation) if wide > 1 else x
    y = depthwise(y, kernel, stride, activation)
    if squeeze:
        s = layers.GlobalAveragePooling2D(keepdims=True)(y)
        s = layers.Conv2D(max(4, y.shape[-1] // 4), 1, activation="relu")(s)
        y = layers.Multiply()([y, layers.Conv2D(y.shape[-1], 1, activation="hard_sigmoid")(s)])
    y = conv(y, channels, 1, 1, None)
    return layers.Add()([x, y]) if y.shape == x.shape else y


def mobilenet_v2() -> Any:
    x = source = layers.Input((64, 64, 3), batch_size=1)
    x = conv(x, 8, 3, 2)
    for channels, wide, stride in ((8, 1, 1), (12, 6, 2), (12, 6, 1), (16, 6, 2), (16, 6, 1), (32, 6, 2), (32, 6, 1)):
        x = _bottleneck(x, channels, wide, 3, stride, "relu6", squeeze=False)
    return tf.keras.Model(source, _head(conv(x, 128, 1)))


def mobilenet_v3_small() -> Any:
    x = source = layers.Input((64, 64, 3), batch_size=1)
    x = conv(x, 8, 3, 2, "hard_swish")
    for channels, wide, kernel, stride, activation, squeeze in (
        (8, 1, 3, 2, "relu", True), (12, 4, 3, 2, "relu", False), (12, 4, 3, 1, "relu", False),
        (20, 4, 5, 2, "hard_swish", True), (20, 6, 5, 1, "hard_swish", True),
    ):  # fmt: skip
        x = _bottleneck(x, channels, wide, kernel, stride, activation, squeeze)
    return tf.keras.Model(source, _head(conv(x, 96, 1, 1, "hard_swish")))


def efficientnet_lite() -> Any:
    x = source = layers.Input((64, 64, 3), batch_size=1)
    x = conv(x, 16, 3, 2)
    for channels, wide, kernel, stride in ((8, 1, 3, 1), (12, 6, 3, 2), (12, 6, 3, 1), (20, 6, 5, 2), (20, 6, 5, 1)):
        x = _bottleneck(x, channels, wide, kernel, stride, "relu6", squeeze=False)
    return tf.keras.Model(source, _head(conv(x, 128, 1)))


def resnet_18() -> Any:
    x = source = layers.Input((64, 64, 3), batch_size=1)
    x = layers.MaxPooling2D(3, 2, padding="same")(conv(x, 8, 7, 2, "relu"))
    for channels, stride in ((8, 1), (8, 1), (16, 2), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        y = conv(conv(x, channels, 3, stride, "relu"), channels, 3, 1, None)
        short = x if y.shape == x.shape else conv(x, channels, 1, stride, None)
        x = layers.ReLU()(layers.Add()([short, y]))
    return tf.keras.Model(source, _head(x))


def densenet() -> Any:
    x = source = layers.Input((32, 32, 3), batch_size=1)
    x = conv(x, 16, 3, 1, "relu")
    for block in range(3):
        for _ in range(4):
            x = layers.Concatenate()([x, conv(conv(x, 32, 1, 1, "relu"), 8, 3, 1, "relu")])
        if block < 2:
            x = layers.AveragePooling2D(2)(conv(x, x.shape[-1] // 2, 1, 1, "relu"))
    return tf.keras.Model(source, _head(x))


def u_net() -> Any:
    """Return a decoder with bilinear upsampling on one level and transposed convolution on the other."""
    x = source = layers.Input((48, 48, 3), batch_size=1)
    skips = []
    for channels in (8, 16):
        x = conv(conv(x, channels, 3, 1, "relu"), channels, 3, 1, "relu")
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = conv(x, 32, 3, 1, "relu")
    x = layers.Concatenate()([skips.pop(), layers.UpSampling2D(2, interpolation="bilinear")(x)])
    x = conv(x, 16, 3, 1, "relu")
    x = layers.Concatenate()([skips.pop(), layers.Conv2DTranspose(8, 2, 2, padding="same")(x)])
    return tf.keras.Model(source, layers.Conv2D(2, 1)(conv(x, 8, 3, 1, "relu")))


def autoencoder() -> Any:
    """Return a decoder with nearest upsampling. Keras 3 converts it to TILE, which TFLM lacks."""
    x = source = layers.Input((48, 48, 3), batch_size=1)
    for channels in (16, 8):
        x = layers.MaxPooling2D(2)(conv(x, channels, 3, 1, "relu"))
    for channels in (8, 16):
        x = layers.UpSampling2D(2)(conv(x, channels, 3, 1, "relu"))
    return tf.keras.Model(source, layers.Conv2D(3, 3, padding="same", activation="sigmoid")(x))


def sensor_cnn() -> Any:
    """Return 1-D convolutions on 128 readings of 9 sensors."""
    x = source = layers.Input((128, 9), batch_size=1)
    for channels in (16, 32, 64):
        x = layers.Conv1D(channels, 5, padding="same", activation="relu")(x)
        x = layers.MaxPooling1D(2)(x)
    x = layers.GlobalAveragePooling1D()(x)
    return tf.keras.Model(source, layers.Dense(6, activation="softmax")(x))


def audio_tcn() -> Any:
    """Return causal, dilated 1-D convolutions with shortcuts on 98 frames of 40 features."""
    x = source = layers.Input((98, 40), batch_size=1)
    x = layers.Conv1D(32, 1)(x)
    for dilation in (1, 2, 4, 8):
        y = layers.Conv1D(32, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        y = layers.Conv1D(32, 3, padding="causal", dilation_rate=dilation, activation="relu")(y)
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling1D()(x)
    return tf.keras.Model(source, layers.Dense(12, activation="softmax")(x))


def vision_transformer() -> Any:
    """Return a transformer on 16 patches of 8 x 8 pixels with two layers of two heads."""
    x = source = layers.Input((32, 32, 3), batch_size=1)
    x = layers.Reshape((16, 32))(layers.Conv2D(32, 8, 8)(x))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(2, 16)(y, y)])
        y = layers.Dense(64, activation="relu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(32)(y)])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return tf.keras.Model(source, layers.Dense(10, activation="softmax")(x))


ZOO: Mapping[str, Callable[[], Any]] = {
    f.__name__: f
    for f in (
        mobilenet_v1, mobilenet_v2, mobilenet_v3_small, efficientnet_lite, resnet_18, densenet, u_net, autoencoder,
        sensor_cnn, audio_tcn, vision_transformer,
    )
}  # fmt: skip


def to_int8(model: Any) -> bytes:
    """Quantize the whole model with ranges from random inputs and batch 1."""
    rng = np.random.default_rng(SEED)
    shape = tuple(model.inputs[0].shape)

    def examples() -> Iterator[Sequence[Any]]:
        for _ in range(8):
            yield [rng.uniform(-1, 1, shape).astype(np.float32)]

    _normalise(model, examples())

    function = tf.function(model).get_concrete_function(tf.TensorSpec(shape, tf.float32))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], model)
    converter.experimental_lower_to_saved_model = False  # it would take longer than everything else
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = examples
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def _normalise(model: Any, examples: Iterator[Sequence[Any]]) -> None:
    """Set the statistics of batch normalisation to those of these inputs, because values would vanish otherwise."""
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.momentum = 0.5
    for values in examples:
        model(*values, training=True)


def main(folder: str, *names: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or ZOO:
        tf.keras.utils.set_random_seed(SEED)
        (Path(folder) / f"{name}.tflite").write_bytes(to_int8(ZOO[name]()))


if __name__ == "__main__":
    main(*sys.argv[1:])
