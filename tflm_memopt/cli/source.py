"""Reads the model that the user names, and converts a Keras model to a .tflite model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.cli.keras import FloatModel, accuracy, is_keras, unheard
from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import UsageError
from tflm_memopt.files import read_model
from tflm_memopt.plan.effort import Progress
from tflm_memopt.runtime import arrays


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a model, or a converted Keras model with its test data."""

    data: bytes
    model: FloatModel | None = None
    test: tuple[NDArray[Any], ...] = ()
    """Arrays for the accuracy test: the inputs, followed by the labels."""
    verbose: bool = False

    @staticmethod
    def of(
        path: Path, calibrate: Sequence[Path], test: Sequence[Path], progress: Progress, *, verbose: bool = False
    ) -> Source:
        """Read the model, and convert a Keras model to int8.

        Raises UsageError for a Keras model without --calibrate, and for a .tflite model with --calibrate or --test.
        """
        if not is_keras(path) or not path.exists():
            source = Source(read_model(path))  # The function read_model() raises an error for unknown formats.
            if calibrate or test:
                hint = "give a .keras file or SavedModel folder, or omit --calibrate and --test"
                raise UsageError("--calibrate and --test are for Keras models", where=str(path), hint=hint)
            return source
        if not calibrate:
            raise UsageError(
                "a Keras model needs calibration for int8",
                where=str(path),
                hint="--calibrate X.npy, some hundred typical inputs: numpy.save('X.npy', images[:300])",
            )
        examples, tests = arrays.load(calibrate), tuple(arrays.load(test))
        progress("loading TensorFlow", 0, 0)
        with unheard(verbose=verbose):
            model = FloatModel(path)
        progress(f"converting to int8, calibrated on {len(examples[0]):,} examples", 0, 0)
        if tests and len(tests) != len(model.shapes) + 1:
            raise UsageError(
                f"--test takes a file for each input ({len(model.shapes)}) and a file of labels, but got {len(tests)}",
                hint="--test X.npy Y.npy",
            )
        with unheard(verbose=verbose):
            return Source(model.to_int8(examples), model, tests, verbose)

    def tested(self, result: Optimized, progress: Progress) -> Optimized:
        """Add the accuracy before and after optimization to the result, if the user gave test data."""
        if self.model is None or not self.test:
            return result
        progress("measuring accuracy", 0, 0)
        *inputs, labels = self.test
        with unheard(verbose=self.verbose):
            found = accuracy(self.model, self.data, result.model, inputs, labels)
        return replace(result, report=replace(result.report, accuracy=found))

    def files(self, name: str) -> dict[str, bytes]:
        """Return the file of the int8 model before optimization, if the model was converted from Keras."""
        return {f"{file_stem(name)}.int8.tflite": self.data} if self.model else {}
