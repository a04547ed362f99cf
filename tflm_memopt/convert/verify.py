"""Verifies that two models compute equal outputs, by running them and by comparing their constants."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt.convert import annotation
from tflm_memopt.convert.constants import compare_constants
from tflm_memopt.emit.embedded import own_kernels
from tflm_memopt.errors import ModelError
from tflm_memopt.files import GivenModel, loaded
from tflm_memopt.model import interface
from tflm_memopt.model.reader import Model, read
from tflm_memopt.runtime import verify as runs_of_both
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.stimuli import NO_STEPS, Steps
from tflm_memopt.runtime.verification import How, Verification
from tflm_memopt.tflm.shapes import undefined


def verify(
    original: GivenModel,
    rewritten: GivenModel,
    *,
    runs: int | None = None,
    seed: int = 0,
    inputs: Sequence[NDArray[Any]] = (),
    steps: Steps = NO_STEPS,
    how: How | None = None,
    c: Path | None = None,
) -> Verification:
    """Run both models and compare every output byte, and the weights, biases and scales of all operators.

    The argument `runs` is the number of random inputs. By default, random inputs are tried for about two seconds, but
    at least ten inputs are tried. If time is left after the random inputs, 256 more inputs let each input byte take
    every value. The argument `seed` is the seed of the random inputs. The argument `inputs` has an array for each input
    of the model. Several inferences may be stacked along the first axis. The argument `steps` is for models with state:
    the number of consecutive inferences, and the number of inferences after which the state is reset. The argument
    `how` selects TFLM's official wheel or this package's kernels. By default, the wheel is used on systems that have a
    wheel. The argument `c` is the path of the rewritten model's C module (a folder or the file NAME.c), which is also
    compared.

    Raises InterfaceError if the models cannot be compared. Raises ModelError if a model cannot be read, if the original
    cannot be run, or if the program of a rewritten model is damaged. Raises
    RuntimeUnavailable if a package is missing. Raises UsageError for arrays that do not match the inputs, and if the
    description of a user's kernel was not imported.
    """
    before, after = loaded(original).data, loaded(rewritten).data
    model = read(before)
    annotation.make_kernels(model)
    demand_kernels(read(after))
    found = runs_of_both.verify(before, after, runs=runs, seed=seed, inputs=inputs, steps=steps, how=how, c=c)
    unclear = undefined(model)
    why = f"{unclear.why}; {unclear.hint}" if unclear else ""
    changes = interface.changes_of(interface.metadata(read(after).tree, interface.METADATA))
    return replace(found, constants=compare_constants(model, read(after), changes), undefined=why)


def demand_kernels(rewritten: Model) -> None:
    """Raise UsageError if the model calls a user's kernel without a description in the process."""
    with contextlib.suppress(ModelError):  # The function verify() reports damaged programs.
        own_kernels(regions(rewritten))
