"""Compiles C modules of `optimize --emit c` for this machine, and runs them."""

import functools
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tflm_memopt.answers.report import SourceReport
from tflm_memopt.emit import library
from tflm_memopt.emit.embedded import file_name
from tflm_memopt.emit.ports import Port, Ports, ports
from tflm_memopt.emit.templates import rendered
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import Model
from tflm_memopt.runtime import host, native
from tflm_memopt.runtime.feeds import in_a_picture
from tflm_memopt.runtime.regions import external_shape, regions
from tflm_memopt.runtime.stimuli import Array, Run
from tflm_memopt.runtime.windows import Slide, step_elements

EXTERNAL = "external"
"""Value of `Changes.input` if the model reads its input from the caller's buffer."""
STANDARD = ("-std=c11", "-O1")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SECONDS = 600
SELFTEST = re.compile(r"^int32_t (\w+)_selftest\(void\);$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sources:
    header: Path
    source: Path
    prefix: str

    @property
    def library(self) -> Path:
        return self.source.with_name(file_name(self.source.stem))


@dataclass(frozen=True, slots=True)
class Ran:
    outputs: tuple[Array, ...]
    sanitized: bool
    selftest: int
    failure: str


@dataclass(frozen=True, slots=True)
class Toolchain:
    command: tuple[str, ...]
    sanitized: bool

    @property
    def flags(self) -> tuple[str, ...]:
        return (*STANDARD, *(SANITIZERS if self.sanitized else ()))

    def __call__(self, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [*self.command, *self.flags, *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", check=False)


def find(place: Path) -> Sources:
    """Return the only C module in `place`, which is a folder or NAME.c. Raises UsageError if `place` has no module or
    several modules.
    """
    wanted = [place] if place.is_file() else sorted(place.glob("*.c"))
    found = [module for path in wanted if (module := _module(path))]
    if not found:
        raise UsageError(
            f"{place} has no C module",
            code="bad_c_module",
            hint="the folder of optimize --emit c, with NAME.h and NAME.c",
        )
    if len(found) > 1:
        names = ", ".join(module.source.name for module in found)
        raise UsageError(
            f"{place} has several C modules: {names}", code="bad_c_module", hint=f"--c {found[0].source}, for example"
        )
    return found[0]


def _module(source: Path) -> Sources | None:
    header = source.with_suffix(".h")
    if source.suffix != ".c" or not header.is_file():
        return None
    text = header.read_text("utf-8", "replace")
    named = SELFTEST.search(text)
    return Sources(header, source, named[1]) if named else None


@functools.cache
def toolchain(command: tuple[str, ...]) -> Toolchain:
    with tempfile.TemporaryDirectory(prefix="tflm-memopt-") as name:
        folder = Path(name)
        (folder / "probe.c").write_text("int main(void) { return 0; }\n")
        watched = Toolchain(command, sanitized=True)
        if watched("probe.c", "-o", "probe", cwd=folder).returncode:
            return Toolchain(command, sanitized=False)
        runs = subprocess.run([folder / "probe"], env=_environment(), check=False, capture_output=True)
        return Toolchain(command, sanitized=runs.returncode == 0)


def run(module: Sources, model: Model, where: str, runs: Sequence[Run]) -> Ran:
    """Run a C module, and return the outputs of all runs, or the reason why the module failed.

    The argument `where` is a value of `Changes.input`. The argument `runs` has the whole input of each run, even if the
    input is streamed, external or sliding.
    """
    compiler, new = toolchain(native.compiler()), step_elements(model.graph, where)
    source = None if new else _source(model, where, runs)
    stateful = any(region.state is not None for region in regions(model))
    fed = _steps(runs, new) if stateful else _fed(model, where, runs)
    with tempfile.TemporaryDirectory(prefix="tflm-memopt-") as name:
        folder = Path(name)
        expected = ports(module.prefix, model.graph)
        slow = any(host.slow_bytes(region.program) for region in regions(model))
        main = harness(module.header.name, module.prefix, expected, source, stateful=stateful, slow=slow)
        (folder / "main.c").write_text(main, encoding="utf-8")
        include = f"-I{module.header.parent.resolve()}", *library.include_flags()
        sources = (module.source.resolve(), module.library.resolve(), library.folder() / "src/tmo_status.c", "main.c")
        done = compiler(*WARNINGS, *include, *sources, "-o", "program", "-lm", cwd=folder)
        if done.returncode:
            raise _does_not_compile(done.stderr, str(module.source))
        (folder / "inputs").write_bytes(b"".join(fed))
        selftest, failure = _execute([str(folder / "program"), str(len(runs)), "inputs", "outputs"], folder)
        outputs = () if failure else _outputs(model.graph, (folder / "outputs").read_bytes(), len(runs))
        return Ran(outputs, compiler.sanitized, selftest, failure)


def _source(model: Model, where: str, runs: Sequence[Run]) -> SourceReport | None:
    if not where:
        return None
    if where == EXTERNAL:
        height, width, channels = external_shape(regions(model))
        return SourceReport(height, width * channels, 0)
    push = model.graph.tensors[model.graph.inputs[0]].nbytes
    return SourceReport(runs[0].values[0].nbytes // push, push, 1)


def _does_not_compile(said: str, where: str) -> UsageError:
    errors = [line for line in said.splitlines() if "error" in line] or said.splitlines() or ["the compiler failed"]
    what = f"it is {OTHER_MODULE}" if OTHER_MODULE in said else errors[0]
    return UsageError(
        f"the C module does not compile: {what}",
        code="bad_c_module",
        where=where,
        hint="write it again: optimize --emit c, with the same options and version",
    )


def _fed(model: Model, where: str, runs: Sequence[Run]) -> Iterator[bytes]:
    for number, run in enumerate(runs):
        if where != EXTERNAL:
            yield from (np.ascontiguousarray(value).tobytes() for value in run.values)
        else:
            picture = in_a_picture(run.values[0], external_shape(regions(model)), number)
            words = [picture.pixels.nbytes, picture.pitch, picture.x, picture.y, picture.format]
            yield np.array(words, np.uint32).tobytes() + picture.pixels.tobytes()


def _steps(runs: Sequence[Run], new: int) -> Iterator[bytes]:
    slide = Slide(new)
    for run in runs:
        if run.reset:
            slide.forget()
        values, filling, inferences = run.values, False, 1
        if new:
            rows, filling = slide.steps_to(run.values[0])
            values, inferences = tuple(rows), len(rows)
        yield np.array([run.reset, filling, inferences], np.uint32).tobytes()
        yield from (np.ascontiguousarray(value).tobytes() for value in values)


def _execute(command: Sequence[str], folder: Path) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, cwd=folder, env=_environment(), capture_output=True, text=True, errors="replace", check=False,
            timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 0, f"it did not end within {SECONDS} s"
    if done.returncode == 0:
        return int(done.stdout), ""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "ERROR: " in line or "runtime error: " in line]
    return 0, (telling or lines or [f"it ended with exit code {done.returncode}"])[0]


def _environment() -> dict[str, str]:
    return {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=0"}


def _outputs(graph: Graph, data: bytes, runs: int) -> tuple[Array, ...]:
    tensors = [graph.tensors[t] for t in graph.outputs]
    whole = np.frombuffer(data, np.uint8).reshape(runs, -1)
    ends = np.cumsum([t.nbytes for t in tensors])
    parts = (whole[:, end - t.nbytes : end] for t, end in zip(tensors, ends, strict=True))
    return tuple(
        np.ascontiguousarray(part).view(t.dtype.lower()).reshape(runs, *t.shape)
        for part, t in zip(parts, tensors, strict=True)
    )


OTHER_MODULE = "not a module of this model"
GIVEN_UP = 2
"""Index of the run that tests a reset: the test program pushes half of another input before the reset."""


def harness(
    header: str, prefix: str, ports: Ports, source: SourceReport | None, *, stateful: bool, slow: bool = False
) -> str:
    """Return the C text of a test program, which prints the result of the self-test and then runs the module N times.

    The program takes three arguments: N, the input file and the output file. Both files have the data of the first run,
    then the data of the second run, and so on. For a streamed input, the input file has all rows. The data of an
    external input begin with five uint32: number of bytes, pitch, x, y and format of the frame.

    If the module has a state, three uint32 precede the data of each run: 1 to reset the module first, 1 if only the
    last inference has a full window, and the number of inferences.
    """
    return rendered(
        "harness.c.jinja",
        header=header, prefix=prefix, ports=ports, source=source, stateful=stateful, slow=slow, given_up=GIVEN_UP,
        tests=list(_tests(prefix.upper(), ports.all, source)), other_module=OTHER_MODULE,
    )  # fmt: skip


def _tests(macro: str, ports: Sequence[Port], source: SourceReport | None) -> Iterator[str]:
    yield f"{macro}_ARENA_BYTES > 0"
    for port in ports:
        yield f"{port.constant} == {port.nbytes}u"
    if source and source.pushed:
        yield f"{macro}_PUSHES == {source.rows // source.pushed}u"
    elif source:
        yield f"{macro}_ROWS == {source.rows}u && {macro}_ROW_BYTES == {source.row_bytes}u"
