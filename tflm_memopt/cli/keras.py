"""Converts a Keras model to an int8 .tflite model with TensorFlow's converter, calibrated on the user's data.

The conversion needs TensorFlow: `pip install tflm-memopt[train]`. The first axis of each input array counts examples.
"""

import contextlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tflm_memopt.answers.report import Accuracy
from tflm_memopt.errors import RuntimeUnavailable, UsageError
from tflm_memopt.model import writer
from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.interface import format_of
from tflm_memopt.model.reader import read, text
from tflm_memopt.runtime.convert import dequantize, quantize
from tflm_memopt.runtime.process import run_model
from tflm_memopt.runtime.stimuli import Array

FORMS = (".keras", ".h5")
OUTPUT = (1, 2)
BATCH = 64


def is_keras(path: Path) -> bool:
    return path.suffix.lower() in FORMS or (path / "saved_model.pb").is_file()


class FloatModel:
    def __init__(self, path: Path) -> None:
        """Raises RuntimeUnavailable if TensorFlow is missing, and UsageError for an invalid model."""
        self._tf = _tensorflow()
        self._call: Callable[..., Any]
        try:
            self._load(path)
        except (OSError, ValueError, TypeError, KeyError) as error:
            if layer := _OWN_LAYER.search(str(error)):
                raise UsageError(
                    f"the model has a custom layer, {layer[1] or 'Lambda'}, whose code is not in the file",
                    code="not_convertible",
                    where=str(path),
                    hint="model.export('FOLDER') where the layer is defined, then optimize FOLDER",
                ) from error
            hint = "use a .keras file that model.save() wrote, or a SavedModel folder"
            what = f"the file is not a Keras model: {_line(error)}"
            raise UsageError(what, code="not_a_model", where=str(path), hint=hint) from error

    def _load(self, path: Path) -> None:
        if path.is_dir():
            self._graph = self._tf.saved_model.load(str(path))
            signature = self._graph.signatures["serving_default"]
            specs = signature.structured_input_signature[1]
            self.names = tuple(sorted(specs))
            self._set_inputs([specs[name] for name in self.names])
            self._call = lambda *inputs: signature(**dict(zip(self.names, inputs, strict=True)))
            return
        model = self._tf.keras.models.load_model(path, compile=False)
        self.names = tuple(tensor.name for tensor in model.inputs)
        self._set_inputs(model.inputs)
        with tempfile.TemporaryDirectory() as folder:  # An export turns variables into constants.
            model.export(folder, verbose=False)
            self._graph = self._tf.saved_model.load(folder)
        self._call = self._graph.serve if len(model.inputs) == 1 else lambda *inputs: self._graph.serve(list(inputs))

    def _set_inputs(self, inputs: Sequence[Any]) -> None:
        """Set the types and the shapes of the inputs, without the first axis. A dimension without a fixed size is None.

        The first axis of an input must have size 1 or no fixed size, because a microcontroller runs one example at a
        time.
        """
        shapes = [tuple(tensor.shape) for tensor in inputs]
        for name, (batch, *_) in zip(self.names, shapes, strict=True):
            if batch not in (None, 1):
                raise UsageError(
                    f"the model has a fixed batch size of {batch}",
                    code="bad_data",
                    where=f"input '{name}'",
                    hint="use Input(shape=...) instead of batch_shape",
                )
        self.shapes = [shape[1:] for shape in shapes]
        self._types = [self._tf.as_dtype(tensor.dtype).as_numpy_dtype for tensor in inputs]

    def to_int8(self, calibration: Sequence[Array]) -> bytes:
        """Return an int8 model that processes one example per inference. The argument `calibration` has an array of
        examples for each input.
        """
        tf = self._tf
        inputs = self.inputs(calibration)
        for name, array in zip(self.names, inputs, strict=True):
            _demand_range(name, array)
        self.shapes = [tuple(array.shape[1:]) for array in inputs]
        one = tf.function(self._call)
        specs = [tf.TensorSpec((1, *array.shape[1:]), array.dtype) for array in inputs]
        concrete = one.get_concrete_function(*specs)
        names = [tensor.name.partition(":")[0] for tensor in concrete.inputs[: len(specs)]]
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], self._graph)

        def representative() -> Iterator[dict[str, Array]]:
            for example in zip(*inputs, strict=True):
                yield {name: value[None] for name, value in zip(names, example, strict=True)}

        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = representative
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        # TFLM libraries of 2023, which many boards still use, support FULLY_CONNECTED only with one scale per tensor.
        converter._experimental_disable_per_channel_quantization_for_dense_layers = True
        try:
            return in_order(bytes(converter.convert()), names)
        except Exception as error:  # TensorFlow's converter may raise any exception.
            raise _not_convertible(str(error) or type(error).__name__) from error

    def inputs(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the arrays in the types of the model's inputs. Raises UsageError for arrays of other shapes."""
        if len(arrays) != len(self.shapes):
            hint = "give one array per input, in the model's order"
            what = f"number of arrays: {len(arrays)}, number of the model's inputs: {len(self.shapes)}"
            raise UsageError(what, code="bad_data", hint=hint)
        for name, shape, array in zip(self.names, self.shapes, arrays, strict=True):
            given = array.shape[1:]
            if len(given) != len(shape) or any(n not in (None, g) for n, g in zip(shape, given, strict=True)):
                wanted = ", ".join(["N", *("any" if n is None else str(n) for n in shape)])
                raise UsageError(
                    f"an array has shape {list(array.shape)}, but the input needs [{wanted}]",
                    code="bad_data",
                    where=f"input '{name}'",
                    hint="stack examples along the first axis, and prepare them as for training",
                )
        if len({len(array) for array in arrays}) > 1:
            raise UsageError(
                f"the arrays have different numbers of examples: {[len(a) for a in arrays]}",
                code="bad_data",
                hint="give the same number of examples in each array",
            )
        return [array.astype(dtype) for array, dtype in zip(arrays, self._types, strict=True)]

    def scores(self, arrays: Sequence[Array]) -> Array:
        """Return the model's first output for all examples, in the shape [examples, classes]."""
        inputs = self.inputs(arrays)
        parts = []
        for first in range(0, len(inputs[0]), BATCH):
            out = self._call(*(self._tf.constant(a[first : first + BATCH]) for a in inputs))
            while isinstance(out, (dict, list, tuple)):  # A model with several outputs is judged by its first output.
                out = next(iter(out.values() if isinstance(out, dict) else out))
            parts.append(np.asarray(out))
        return np.concatenate(parts)


def _demand_range(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        what, hint = "values for calibration are not finite", "remove examples with NaN or infinite values"
    elif array.min() == array.max():
        what, hint = f"all values for calibration are {array.flat[0]}", "use typical examples"
    else:
        return
    raise UsageError(what, code="bad_data", where=f"input '{name}'", hint=hint)


def in_order(model: bytes, names: Sequence[str]) -> bytes:
    """Put the inputs of a model into the order of `names`, because TensorFlow's converter may change the order of
    inputs.
    """
    source = read(model)
    numbers = {text(one.name): one.tensorIndex for one in source.tree.signatureDefs[0].inputs}
    wanted = tuple(numbers[name] for name in names)
    if wanted == source.graph.inputs:
        return model
    tree = writer.edit(source)
    tree.subgraphs[0].inputs = np.array(wanted, np.int32)
    return writer.write(tree)


def accuracy(model: FloatModel, int8: bytes, rewritten: bytes, inputs: Sequence[Array], labels: Array) -> Accuracy:
    """Return for each model the fraction of the examples that the model classifies correctly."""
    classes = labels.argmax(axis=1) if labels.ndim == 2 and labels.shape[1] > 1 else labels.reshape(-1)
    examples = model.inputs(inputs)
    if len(classes) != len(examples[0]):
        raise UsageError(
            f"{len(classes)} labels were given for {len(examples[0])} examples",
            code="bad_data",
            hint="--test X.npy Y.npy",
        )
    shares = [float(np.mean(_classes(model.scores(inputs)) == classes))]
    shares += [float(np.mean(_classes(_under_tflm(m, examples)) == classes)) for m in (int8, rewritten)]
    return Accuracy(len(classes), *shares)


def _classes(scores: Array) -> Array:
    """For a model with one score, a score above 0.5 means class 1."""
    flat = scores.reshape(len(scores), -1)
    classes: Array = flat.argmax(axis=1) if flat.shape[1] > 1 else (flat[:, 0] > 0.5).astype(np.int64)
    return classes


def _under_tflm(model: bytes, examples: Sequence[Array]) -> Array:
    graph = read(model).graph
    fed = [_quantized(graph.tensors[i], array) for i, array in zip(graph.inputs, examples, strict=True)]
    outcome = run_model(model, fed, len(examples[0]), len(graph.outputs))
    if outcome.failure:
        raise RuntimeUnavailable(
            f"the int8 model does not run: {outcome.failure}",
            code="does_not_run",
            hint="pip install 'tflm-memopt[tflm]'",
        )
    form = format_of(graph.tensors[graph.outputs[0]])
    return outcome.outputs[0] if form.scale is None else dequantize(outcome.outputs[0], form)


def _quantized(tensor: Tensor, array: Array) -> Array:
    values = array.reshape(len(array), *tensor.shape)
    return values.astype(tensor.dtype.lower()) if tensor.quantization is None else quantize(values, format_of(tensor))


def _tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        import tensorflow as tf  # noqa: PLC0415
    except ImportError as error:
        raise RuntimeUnavailable(
            "a Keras model needs TensorFlow, which is not installed",
            code="not_installed",
            hint="pip install 'tflm-memopt[train]'",
        ) from error
    return tf


_OWN_LAYER = re.compile(
    r"(?:Could not locate (?:class|function)|Unknown layer:) '?(\w+)|deserialization of a `Lambda` layer"
)
_RECURRENT = re.compile(r"TensorList|tensor list", re.IGNORECASE)
_MISSING = re.compile(r"'?tf\.(\w+)'? op is neither a custom op nor a flex op|failed to legalize operation 'tf\.(\w+)'")


def _not_convertible(message: str) -> UsageError:
    if _RECURRENT.search(message):
        return UsageError(
            "TensorFlow cannot convert a recurrent layer (LSTM, GRU, RNN) to int8 as a loop",
            code="not_convertible",
            hint="use a layer with unroll=True and the same weights, and the number of steps in Input(shape=...)",
        )
    log = "--verbose shows TensorFlow's own messages"
    if missing := sorted({name for found in _MISSING.findall(message) for name in found if name}):
        return UsageError(
            f"TFLite has no int8 operator for TensorFlow's {', '.join(missing)}",
            code="not_convertible",
            hint=f"use layers whose operators docs/operators.md lists; {log}",
        )
    return UsageError(
        f"TensorFlow cannot convert the model to int8: {_line(message)}", code="not_convertible", hint=log
    )


@contextlib.contextmanager
def unheard(*, verbose: bool) -> Iterator[None]:
    """Suppress the output of TensorFlow's C++ and Python code in this process, unless `--verbose` is given."""
    if verbose:
        yield
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with contextlib.ExitStack() as undo:
        nowhere = undo.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        for descriptor in OUTPUT:
            kept = os.dup(descriptor)
            undo.callback(os.close, kept)
            undo.callback(os.dup2, kept, descriptor)
            os.dup2(nowhere.fileno(), descriptor)
        undo.enter_context(contextlib.redirect_stdout(nowhere))
        undo.enter_context(contextlib.redirect_stderr(nowhere))
        undo.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield


def _line(message: object) -> str:
    first = (str(message).strip().splitlines() or [type(message).__name__])[0]
    return re.sub(r"^\S+:\d+:\d+: error: ", "", first)[:200]
