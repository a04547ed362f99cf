"""Train small networks on synthetic data, and write them as .tflite files.

The script prints the score of each network on new samples. Seeds are fixed, but another version of TensorFlow may train
other weights.

Usage:
    pip install "tflm-memopt[train]"
    python examples/networks/train_networks.py [--only NAME ...]
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import synthetic
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from synthetic import Floats, Labels

HERE = Path(__file__).parent
SEED, TEST_SEED = 1, 2
WINDOW, STEP = 56, 3
"""Each inference of the wake word network reads WINDOW frames. Two consecutive inferences share
WINDOW - STEP frames.
"""
TESTS = 1000
CALIBRATION = 200
"""Number of samples from which the int8 scales are computed."""
layers = tf.keras.layers


def convolved(x: tf.Tensor, channels: int, kernel: int | tuple[int, int] = 1, stride: int = 1) -> tf.Tensor:
    x = layers.Conv2D(channels, kernel, stride, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x))


def separable(x: tf.Tensor, channels: int, stride: int = 1) -> tf.Tensor:
    x = layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False)(x)
    return convolved(layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x)), channels)


def classified(x: tf.Tensor, classes: int) -> tf.Tensor:
    """Add the last layers of MLPerf Tiny's networks: AVERAGE_POOL_2D, RESHAPE, FULLY_CONNECTED and SOFTMAX."""
    x = layers.Flatten()(layers.AveragePooling2D(x.shape[1:3])(x))
    return layers.Dense(classes, activation="softmax")(x)


def dscnn(batch: int | None) -> tf.keras.Model:
    """Return a DS-CNN for keywords as in MLPerf Tiny, with 48 channels instead of 64."""
    sound = tf.keras.Input((49, 10, 1), batch)
    x = convolved(sound, 48, (10, 4), 2)
    for _ in range(4):
        x = separable(x, 48)
    return tf.keras.Model(sound, classified(x, synthetic.KEYWORDS + 2))


def resnet(batch: int | None) -> tf.keras.Model:
    """Return a ResNet-8 as in MLPerf Tiny, with half its width."""
    picture = tf.keras.Input((32, 32, 3), batch)
    x = convolved(picture, 8, 3)
    for channels, stride in ((8, 1), (16, 2), (32, 2)):
        y = layers.Conv2D(channels, 3, padding="same", use_bias=False)(convolved(x, channels, 3, stride))
        y = layers.BatchNormalization(momentum=0.9)(y)
        shortcut = layers.Conv2D(channels, 1, stride, padding="same")(x) if stride > 1 else x
        x = layers.ReLU()(layers.Add()([shortcut, y]))
    return tf.keras.Model(picture, classified(x, len(synthetic.PATTERNS)))


def mobilenet(batch: int | None) -> tf.keras.Model:
    """Return a MobileNetV1 for 96x96 colour pictures that is narrower than MLPerf Tiny's."""
    picture = tf.keras.Input((96, 96, 3), batch)
    x = convolved(picture, 8, 3, 2)
    for channels, stride in ((12, 1), (16, 2), (16, 1), (24, 2), (24, 1), (32, 2), *[(32, 1)] * 4, (48, 2), (48, 1)):
        x = separable(x, channels, stride)
    return tf.keras.Model(picture, classified(x, 2))


def mobilenet_v2(batch: int | None) -> tf.keras.Model:
    """Return a MobileNetV2 with an explicit PAD before each strided layer, as in Keras."""
    picture = tf.keras.Input((48, 48, 3), batch)
    x = convolved(picture, 8, 3, 2)
    for channels, stride in ((8, 1), (16, 2), (16, 1), (24, 2), (24, 1)):
        y = convolved(x, 4 * x.shape[-1])
        if stride > 1:
            y = layers.ZeroPadding2D(((0, 1), (0, 1)))(y)
        y = layers.DepthwiseConv2D(3, stride, padding="same" if stride == 1 else "valid", use_bias=False)(y)
        y = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(y))
        y = layers.BatchNormalization(momentum=0.9)(layers.Conv2D(channels, 1, use_bias=False)(y))
        x = layers.Add()([x, y]) if x.shape == y.shape else y
    x = layers.GlobalAveragePooling2D()(convolved(x, 64))
    return tf.keras.Model(picture, layers.Dense(len(synthetic.PATTERNS), activation="softmax")(x))


def autoencoder(batch: int | None) -> tf.keras.Model:
    """Return an autoencoder of dense layers. The narrowest layer has 8 units."""
    sound = x = tf.keras.Input((256,), batch)
    for units in (48, 48, 8, 48, 48):
        x = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(layers.Dense(units, use_bias=False)(x)))
    return tf.keras.Model(sound, layers.Dense(256)(x))


def wake_word(batch: int | None) -> tf.keras.Model:
    """Return a network of convolutions over time, without padding, for a window of 56 frames of 40 features."""
    sound = tf.keras.Input((WINDOW, 1, 40), batch)
    x = layers.Conv2D(32, (5, 1), (STEP, 1), activation="relu")(sound)
    for taps in (5, 9):
        x = layers.Conv2D(32, 1, activation="relu")(layers.DepthwiseConv2D((taps, 1))(x))
    return tf.keras.Model(sound, layers.Dense(1, activation="sigmoid")(layers.Flatten()(x)))


class Streaming(tf.Module):  # type: ignore[misc]
    """Each inference reads 3 new frames. Variables keep rows that later inferences read again."""

    def __init__(self, window: tf.keras.Model) -> None:
        super().__init__()
        weights = [tf.constant(w) for w in window.get_weights()]
        self.first, self.separables, self.dense = weights[:2], (weights[2:6], weights[6:10]), weights[10:]
        kept = {"sound": (5 - STEP, 40), "first": (4, 32), "second": (8, 32), "last": (5, 32)}
        self.rolling_buffers = {
            name: tf.Variable(tf.zeros((1, rows, 1, channels)), name=name) for name, (rows, channels) in kept.items()
        }

    def _with_kept(self, name: str, rows: tf.Tensor) -> tf.Tensor:
        rolling_buffer = self.rolling_buffers[name]
        joined = tf.concat([rolling_buffer, rows], 1)
        with tf.control_dependencies([rolling_buffer.assign(joined[:, -rolling_buffer.shape[1] :])]):
            return tf.identity(joined)

    @tf.function(input_signature=[tf.TensorSpec((1, STEP, 40), name="frames")])  # type: ignore[untyped-decorator]
    def step(self, frames: tf.Tensor) -> tf.Tensor:
        x = self._with_kept("sound", tf.reshape(frames, (1, STEP, 1, 40)))
        x = tf.nn.relu(tf.nn.conv2d(x, self.first[0], 1, "VALID") + self.first[1])
        for name, (depthwise, bias, pointwise, offset) in zip(("first", "second"), self.separables, strict=True):
            x = tf.nn.depthwise_conv2d(self._with_kept(name, x), depthwise, (1, 1, 1, 1), "VALID") + bias
            x = tf.nn.relu(tf.nn.conv2d(x, pointwise, 1, "VALID") + offset)
        x = tf.reshape(self._with_kept("last", x), (1, -1))
        return tf.nn.sigmoid(tf.matmul(x, self.dense[0]) + self.dense[1])


@dataclass(frozen=True)
class Network:
    build: Callable[[int | None], tf.keras.Model]
    data: Callable[[int, int], tuple[Floats, Labels]]
    samples: int
    epochs: int
    float_io: bool = False
    streaming: bool = False
    """Whether the script also writes a model that keeps its state in variables."""


def wake_data(count: int, seed: int) -> tuple[Floats, Labels]:
    return synthetic.wake_words(count, seed, WINDOW)


NETWORKS: Mapping[str, Network] = {
    "keywords_dscnn_int8": Network(dscnn, synthetic.keywords, 6000, 10),
    "textures_resnet8_int8": Network(resnet, lambda n, seed: synthetic.textures(n, seed, 32), 6000, 10),
    "figures_mobilenet_int8": Network(mobilenet, synthetic.figures, 5000, 8),
    "textures_mobilenetv2_float_io": Network(
        mobilenet_v2, lambda n, seed: synthetic.textures(n, seed, 48), 6000, 10, float_io=True
    ),
    "machine_autoencoder_int8": Network(autoencoder, synthetic.machine_sounds, 8000, 20),
    "wakeword_window_int8": Network(wake_word, wake_data, 6000, 12, streaming=True),
}


def trained(network: Network, samples: Floats, labels: Labels) -> tf.keras.Model:
    model, batch = network.build(None), 50
    if network.build is autoencoder:
        labels, loss = samples, "mse"  # type: ignore[assignment]
    else:
        loss = "binary_crossentropy" if model.output_shape[-1] == 1 else "sparse_categorical_crossentropy"
    rate = tf.keras.optimizers.schedules.CosineDecay(3e-3, network.epochs * -(-len(samples) // batch))
    model.compile(optimizer=tf.keras.optimizers.Adam(rate), loss=loss)
    model.fit(samples, labels, batch, network.epochs, verbose=0)
    return model


def quantized(converter: tf.lite.TFLiteConverter, calibration: Floats, float_io: bool) -> bytes:
    def representative() -> Iterator[list[Floats]]:
        for sample in calibration:
            yield [sample[None]]

    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if not float_io:
        converter.inference_input_type = converter.inference_output_type = tf.int8
    # TFLM of 2023, which many boards still use, supports FULLY_CONNECTED only with one scale per tensor.
    converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    return bytes(converter.convert())


def converted(network: Network, model: tf.keras.Model, samples: Floats) -> bytes:
    fixed = network.build(1)
    fixed.set_weights(model.get_weights())
    return quantized(tf.lite.TFLiteConverter.from_keras_model(fixed), samples[:CALIBRATION], network.float_io)


def converted_in_steps(model: tf.keras.Model, samples: Floats) -> bytes:
    """Variables become int8, too, with scales that are computed from consecutive windows."""
    module = Streaming(model)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, module.step)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter._experimental_variable_quantization = True
        return quantized(converter, cut(samples[:CALIBRATION]), float_io=False)


def cut(samples: Floats) -> Floats:
    """Cut each window into pieces of 3 frames. If the length of a window is no multiple of 3, frames of silence are put
    before the window.
    """
    steps = -(-WINDOW // STEP)
    padded = np.zeros((len(samples), steps * STEP, 40), np.float32)
    padded[:, steps * STEP - WINDOW :] = samples[:, :, 0]
    return padded.reshape(-1, STEP, 40)


def answers(model: bytes, samples: Floats) -> Floats:
    """The model's state is not reset between samples."""
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    outputs = []
    for sample in samples:
        value = sample.reshape(source["shape"])
        if source["dtype"] == np.int8:
            scale, zero = source["quantization"]
            value = np.clip(np.rint(value / scale) + zero, -128, 127).astype(np.int8)
        interpreter.set_tensor(source["index"], value)
        interpreter.invoke()
        answer = interpreter.get_tensor(result["index"])[0].astype(np.float32)
        if result["dtype"] == np.int8:
            answer = (answer - result["quantization"][1]) * result["quantization"][0]
        outputs.append(answer)
    return np.stack(outputs)


def reached(outputs: Floats, samples: Floats, labels: Labels) -> float:
    """The score is the fraction of right answers or, for an autoencoder, the area under the ROC curve."""
    if outputs.shape == samples.shape:
        errors = np.mean((outputs - samples) ** 2, axis=1)
        return float(np.mean(errors[labels == 1][:, None] > errors[labels == 0]))
    chosen = outputs.argmax(1) if outputs.shape[1] > 1 else outputs[:, 0] > 0.5
    return float(np.mean(chosen == labels))


def make(name: str, folder: Path) -> None:
    network = NETWORKS[name]
    tf.keras.utils.set_random_seed(SEED)
    given, labels = network.data(network.samples, SEED)
    if network.build is autoencoder:  # An autoencoder learns only sounds of machines without faults.
        given = given[labels == 0]
    unseen, truth = network.data(TESTS, TEST_SEED)
    model = trained(network, given, labels)
    floats = reached(model.predict(unseen, verbose=0), unseen, truth)
    files = {name: converted(network, model, given)}
    found = {name: answers(files[name], unseen)}
    if network.streaming:
        steps = name.replace("window", "stream")
        files[steps] = converted_in_steps(model, given)
        found[steps] = answers(files[steps], cut(unseen)).reshape(len(unseen), -1, 1)[:, -1]
    for each, data in files.items():
        (folder / f"{each}.tflite").write_bytes(data)
        quality = reached(found[each], unseen, truth)
        print(f"{each}: {len(data)} B, float {floats:.3f}, int8 {quality:.3f} on {len(unseen)} samples", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=HERE, help="folder to write into")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    tf.config.experimental.enable_op_determinism()
    for name in args.only:
        make(name, args.output)


if __name__ == "__main__":
    main()
