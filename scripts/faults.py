"""Plant faults in a copy of the repository, one at a time, and report which test finds each fault.

A fault in tests/faults replaces a piece of a file, and names the test files that should fail. The tests run in this
order: the named files, all quick tests, the named slow tests. The exit status is 1 if no test finds a fault.

The option `--only` selects the faults of an area, such as kernels, or a single fault, such as planner/sums-end-early.

Usage: python scripts/faults.py [--named] [--only NAME...] [--jobs N]
"""

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from tflm_memopt.runtime.native import file_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
REGISTRY = ROOT / "tests/faults"
OWN_TEST = "tests/unit/test_faults.py"
"""The script does not run OWN_TEST, because OWN_TEST fails for every planted fault."""
QUICK, SLOW = "not slow", "slow"
SECONDS = 1800
"""A test run that takes more than SECONDS seconds counts as failed."""
WITHOUT_HOOK = (
    'import sys\nsys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable_")]\n'
)
"""Python runs the code in WITHOUT_HOOK first, and then imports the copied package instead of the installed package."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault replaces a text that occurs exactly once in a file."""

    area: str
    name: str
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.area}/{self.name}"


@dataclass(frozen=True, slots=True)
class Outcome:
    fault: str
    caught: str
    """The tests that found the fault ("named", "quick" or "slow"), or "survived" if no test failed."""
    test: str
    seconds: float


def registry() -> list[Fault]:
    found = []
    for file in sorted(REGISTRY.glob("*.toml")):
        for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items():
            found.append(Fault(file.stem, name, **{**entry, "tests": tuple(entry["tests"])}))
    return found


def stale(fault: Fault) -> str:
    file = ROOT / fault.file
    if not file.is_file():
        return f"{fault.key}: there is no {fault.file}"
    if (count := file.read_text(encoding="utf-8").count(fault.old)) != 1:
        return f"{fault.key}: its text is {count} times in {fault.file}, not once"
    missing = [test for test in fault.tests if not (ROOT / "tests" / test).exists()]
    return f"{fault.key}: there is no tests/{missing[0]}" if missing else ""


class CannotBuild(Exception):
    """Raised if a command fails, with the command's output."""


class Copy:
    def __init__(self, folder: Path) -> None:
        self.tree, self._build, self._site = folder / "tree", folder / "build", folder / "site"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0"):
            if (source := ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, self.tree / name)
        if (models := (ROOT / "../shared").resolve()).is_dir():
            (folder / "shared").symlink_to(models)
        self._site.mkdir()
        (self._site / "sitecustomize.py").write_text(WITHOUT_HOOK, encoding="utf-8")
        self.environment = {**os.environ, "PYTHONPATH": f"{self.tree}{os.pathsep}{self._site}"}
        self.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        for git in (["init", "-q"], ["add", "-A"]):  # Some tests call git to list the files of the repository.
            self._run("git", "-C", str(self.tree), *git)
        self._run("cmake", "-S", str(self.tree / "custom_ops"), "-B", str(self._build), "-G", "Ninja", "-DTMO_HOST=ON")
        self.build()

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotBuild(f"{' '.join(command)}\n{done.stdout}{done.stderr}")

    def build(self) -> None:
        self._run("cmake", "--build", str(self._build))
        for name in ("tmo_host", "tmo_wheel_shim"):
            if (library := self._build / file_name(name)).is_file():
                shutil.copy2(library, self.tree / "tflm_memopt/runtime")

    def write(self, file: str, text: str) -> None:
        path = self.tree / file
        path.write_text(text, encoding="utf-8")
        # Python compares the times of .py and .pyc files only in whole seconds.
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
        if path.is_relative_to(self.tree / "custom_ops"):
            self.build()

    def failing(self, marked: str, *tests: str) -> str:
        """Run pytest on `tests`, and return the first test that fails, or ""."""
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
        command = [*pytest, "-m", marked, f"--ignore={OWN_TEST}", *tests]
        with subprocess.Popen(
            command,
            cwd=self.tree,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as run:
            try:
                said, _ = run.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                return f"no end of {' '.join(tests)} in {SECONDS} s"
        if run.returncode in (0, 5):  # pytest exits with 5 if no test was selected.
            return ""
        if named := re.search(r"^(?:FAILED|ERROR) (\S+)(.*)$", said, re.MULTILINE):
            return f"{named[1]}{named[2]}"
        if run.returncode < 0:
            return f"signal {-run.returncode} ends {' '.join(tests)}"
        raise SystemExit(f"{' '.join(command)}\n{said}")


def outcome(copy: Copy, fault: Fault, named: bool) -> Outcome:
    """If the argument `named` is true, run only the tests that the fault names."""
    before, start = (copy.tree / fault.file).read_text(encoding="utf-8"), time.monotonic()
    own = [f"tests/{test}" for test in fault.tests]
    ways = [("named", QUICK, own), *([] if named else [("quick", QUICK, ["tests"])]), ("slow", SLOW, own)]
    try:
        copy.write(fault.file, before.replace(fault.old, fault.new))
        for caught, marked, tests in ways:
            if test := copy.failing(marked, *tests):
                return Outcome(fault.key, caught, test, round(time.monotonic() - start, 1))
        return Outcome(fault.key, "survived", "", round(time.monotonic() - start, 1))
    except CannotBuild as why:
        return Outcome(fault.key, "survived", f"it does not compile: {why}", 0.0)
    finally:
        copy.write(fault.file, before)


def outcomes(faults: Sequence[Fault], jobs: int, named: bool) -> Iterator[Outcome]:
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for copy in pool.map(Copy, [Path(folder, str(i)) for i in range(jobs)]):
            copies.put(copy)
        sound = copies.get()
        all_named = sorted({f"tests/{test}" for fault in faults for test in fault.tests})
        if test := sound.failing(QUICK, *(all_named if named else ["tests"])):
            raise SystemExit(f"without a fault, {test} fails")
        copies.put(sound)

        def tried(fault: Fault) -> Outcome:
            copy = copies.get()
            try:
                return outcome(copy, fault, named)
            finally:
                copies.put(copy)

        yield from pool.map(tried, faults)


def table(found: Sequence[Outcome]) -> Iterator[str]:
    rows: dict[str, list[Outcome]] = {}
    for one in found:
        rows.setdefault(one.fault.split("/")[0], []).append(one)
    yield "| area | faults | caught by the tests named | by other quick tests | by slow tests | survived |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for area, these in [*rows.items(), ("all", list(found))]:
        counts = (sum(one.caught == how for one in these) for how in ("named", "quick", "slow", "survived"))
        yield f"| {area} | {len(these)} | {' | '.join(map(str, counts))} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", action="extend", default=[], metavar="AREA", help="faults of an area, or AREA/NAME"
    )
    parser.add_argument("--named", action="store_true", help="run the tests alone that faults name")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="copies of the tree that are tried at once")
    args = parser.parse_args(arguments)

    known = registry()
    unknown = {*args.only}.difference(*((fault.area, fault.key) for fault in known))
    faults = [fault for fault in known if not args.only or {fault.area, fault.key}.intersection(args.only)]
    if wrong := [*filter(None, map(stale, faults)), *(f"{name}: there is no such fault" for name in unknown)]:
        print("\n".join(wrong), file=sys.stderr)
        return 2
    found = []
    for one in outcomes(faults, args.jobs, args.named):
        found.append(one)
        print(f"{one.caught:8} {one.seconds:6.1f} s  {one.fault}  {one.test}", flush=True)
    print("", *table(found), sep="\n")
    return int(any(one.caught == "survived" for one in found))


if __name__ == "__main__":
    sys.exit(main())
