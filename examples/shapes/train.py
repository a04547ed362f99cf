"""Train a network like MobileNet to recognise drawn shapes, and write it to shapes_int8.tflite.

The training takes a few minutes on two cores. Seeds are fixed, but another version of TensorFlow may train other
weights.

Usage:
    pip install "tflm-memopt[train]"
    python examples/shapes/train.py
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from dataset import CLASSES, LEVELS, SIDE, TEST_SEED, Images, Labels, make, quantize

HERE = Path(__file__).parent
TRAIN_SEED = 1
TRAIN_IMAGES, TEST_IMAGES, EPOCHS = 12_000, 3_000, 12


def unit(images: Images) -> npt.NDArray[np.float32]:
    """Return grey values as floats from 0.0 to 1.0."""
    return (images / (LEVELS - 1)).astype(np.float32)


def build(batch: int | None = None) -> tf.keras.Model:
    """Return the untrained network, which has 21,000 weights and 5.9 million multiply-accumulates.

    The network has a convolution, six depthwise separable layers (two with residual additions), a pool, a dense layer
    and softmax.
    """
    layers = tf.keras.layers

    def norm(x: tf.Tensor) -> tf.Tensor:
        return layers.ReLU(6.0)(layers.BatchNormalization(momentum=0.9)(x))

    def separable(x: tf.Tensor, channels: int, stride: int = 1) -> tf.Tensor:
        x = norm(layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False)(x))
        return norm(layers.Conv2D(channels, 1, use_bias=False)(x))

    image = tf.keras.Input((SIDE, SIDE, 1), batch_size=batch)
    x = norm(layers.Conv2D(16, 3, 2, padding="same", use_bias=False)(image))  # 48x48
    x = separable(x, 32)
    x = separable(x, 48, stride=2)  # 24x24
    x = layers.Add()([x, separable(x, 48)])
    x = separable(x, 64, stride=2)  # 12x12
    x = layers.Add()([x, separable(x, 64)])
    x = separable(x, 96, stride=2)  # 6x6
    x = layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(image, layers.Dense(len(CLASSES), activation="softmax")(x))


def train(images: Images, labels: Labels) -> tf.keras.Model:
    """Train the network on randomly mirrored images, which keep their classes."""
    batch = 64
    steps = EPOCHS * (len(images) // batch)
    model = build()
    model.compile(
        optimizer=tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(3e-3, steps)),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    data = tf.data.Dataset.from_tensor_slices((unit(images), labels)).shuffle(len(images), seed=TRAIN_SEED)
    flipped = data.map(lambda x, y: (tf.image.random_flip_left_right(tf.image.random_flip_up_down(x)), y))
    model.fit(flipped.batch(batch, drop_remainder=True).prefetch(4), epochs=EPOCHS, verbose=2)
    return model


def convert(model: tf.keras.Model, images: Images) -> bytes:
    """Convert the model to int8 with a batch size of 1. The tensors' scales are computed from the images."""

    def representative() -> Iterator[list[npt.NDArray[np.float32]]]:
        for image in unit(images):
            yield [image[None]]

    fixed = build(batch=1)
    fixed.set_weights(model.get_weights())
    converter = tf.lite.TFLiteConverter.from_keras_model(fixed)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    # TFLM of 2023, which many boards still use, supports FULLY_CONNECTED only with one scale per tensor.
    converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    return bytes(converter.convert())


def accuracy_int8(model: bytes, images: Images, labels: Labels) -> float:
    """Return the accuracy of the converted model under LiteRT's reference kernels."""
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    source, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    hits = 0
    for image, label in zip(quantize(images, *source["quantization"]), labels, strict=True):
        interpreter.set_tensor(source["index"], image[None])
        interpreter.invoke()
        hits += int(interpreter.get_tensor(result["index"])[0].argmax() == label)
    return hits / len(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=HERE, help="folder to write into")
    args = parser.parse_args()

    tf.keras.utils.set_random_seed(TRAIN_SEED)
    images, labels = make(TRAIN_IMAGES, TRAIN_SEED)
    test_images, test_labels = make(TEST_IMAGES, TEST_SEED)
    model = train(images, labels)
    _, accuracy_float = model.evaluate(unit(test_images), test_labels, verbose=0)
    converted = convert(model, images[:300])

    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "shapes_int8.tflite").write_bytes(converted)
    print(f"test accuracy on {len(test_labels)} images: float {accuracy_float:.4f}")
    print(f"test accuracy on {len(test_labels)} images: int8  {accuracy_int8(converted, test_images, test_labels):.4f}")
    print(f"{args.output / 'shapes_int8.tflite'}: {len(converted)} B")


if __name__ == "__main__":
    main()
