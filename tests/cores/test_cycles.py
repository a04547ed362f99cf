"""Test the cycle model on sequences whose cycles Arm's manuals give, and on flash whose wait states can be counted
by hand.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cores.core import CORES, build, missing_tools

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import cycles_trace
from cycles_rules import M0, M0_PLUS, M3, M4, Instruction, Pipeline, decode

from tflm_memopt.analysis.timing import NO_WAIT, FlashTiming

HERE = Path(__file__).parent
needs_gcc = pytest.mark.skipif(bool(missing_tools(CORES["m4"])), reason=missing_tools(CORES["m4"]))
CPUS = {"m0": "cortex-m0", "m0plus": "cortex-m0plus", "m3": "cortex-m3", "m4": "cortex-m4"}

SEQUENCES = [
    # DDI 0439, 3.3.2 and DDI 0337: "normally three cycles total", and so on
    (M4, "ldr r0, [r1]; ldr r1, [r2]", 3),
    (M4, "ldr r0, [r1, r2]; str r0, [r3, #20]", 3),
    (M4, "ldr r0, [r1, r2]; str r1, [r3, r2]", 3),
    (M4, "ldr r0, [r1, r5]; ldr r1, [r2]; ldr r2, [r3, #4]", 4),
    (M4, "ldr r0, [r1]; ldr r2, [r0]", 4),  # the address is the loaded value
    (M4, "str r0, [r1, #4]", 1),
    (M4, "str r0, [r1, r2]", 2),
    (M4, "str r0, [r1, #4]; ldr r2, [r3]", 4),  # a load waits for a preceding store
    (M4, "str r0, [r1, #4]; ldm r3, {r4, r5}", 5),
    (M4, "str r0, [r1, #4]; str r2, [r3]", 2),
    (M4, "nop; ldr r0, [r1]; ldr.w r8, [r2]", 4),  # 32 bits at a multiple of 4
    (M4, "ldr r0, [r1]; ldr.w r8, [r2]", 4),  # not pipelined: the instruction straddles two words
    (M4, "ldrd r0, r1, [r2]", 3),
    (M4, "ldrd r0, r1, [r2]; ldr r3, [r4]", 5),  # not pipelined after a load of two words
    (M4, "ldm r0, {r1, r2, r3}", 4),
    (M4, "stm r0!, {r1-r7}", 8),
    (M4, "push {r4-r7, lr}", 6),
    (M4, "add r0, r1; ldr r2, [r0]", 4),  # no forwarding from an ALU result to an address
    (M4, "add r3, r1; ldr r2, [r0]", 3),
    (M4, "smlad r0, r1, r2, r0; smull r4, r5, r6, r7; mla r0, r1, r2, r3", 3),
    (M4, "cmp r0, #1; it eq; moveq r1, #2", 2),  # IT is folded into a preceding 16-bit instruction
    (M4, "add.w r8, r9, r10; it eq; moveq r1, #2", 3),
    (M4, "vldr s0, [r0]; vmla.f32 s1, s2, s3; vdiv.f32 s0, s1, s2", 19),
    (M3, "mla r0, r1, r2, r3; mul r4, r5, r6", 3),
    (M3, "smull r0, r1, r2, r3; umlal r4, r5, r6, r7", 12),
    (M3, "ldrb r0, [r1]; ldrsh r2, [r3]; strb r4, [r5]", 5),  # LDRSH has 32 bits and straddles two words
    (M0, "ldr r0, [r1]; ldr r1, [r2]; str r1, [r3]", 6),  # nothing is pipelined
    (M0, "ldm r0!, {r1-r4}; muls r1, r2", 6),
    (M0_PLUS, "add r0, r1; ldr r2, [r0]", 3),
    (M0_PLUS, "push {r4-r7, lr}", 6),
]  # fmt: skip
BRANCHES = [
    # pipeline, branch, code at its target and the target's place, cycles of both
    (M4, "b .", "nop", 8, 4),
    (M4, "bne .", "add.w r8, r9, r10", 8, 4),
    (M4, "bne .", "add.w r8, r9, r10", 10, 5),  # the target has 32 bits and straddles two words
    (M4, "bl .", "nop", 8, 4),
    (M4, "bx lr", "nop", 8, 4),
    (M4, "blx r3", "nop", 8, 4),
    (M4, "ldr pc, [r0]", "nop", 8, 6),  # "at least five"
    (M4, "tbb [pc, r0]", "nop", 8, 7),  # "at least six"
    (M4, "pop {r4, pc}", "nop", 8, 7),  # 1 + N + P
    (M0_PLUS, "bne .", "nop", 8, 3),
    (M0_PLUS, "bl .", "nop", 8, 4),
    (M0_PLUS, "bx lr", "nop", 8, 3),
    (M0_PLUS, "pop {r4, pc}", "nop", 8, 6),  # 3 + N
    (M0, "bne .", "nop", 8, 4),
    (M0, "bl .", "nop", 8, 5),
    (M0, "bx lr", "nop", 8, 4),
    (M0, "pop {r4, pc}", "nop", 8, 7),  # 4 + N
]


def assembled(pipeline: Pipeline, text: str, at: int, folder: Path) -> tuple[Instruction, ...]:
    source, objects, binary = (folder / name for name in ("a.s", "a.o", "a.bin"))
    source.write_text(".syntax unified\n.thumb\n" + text.replace("; ", "\n") + "\n")
    extra = ["-mfpu=fpv4-sp-d16"] if pipeline is M4 else []
    subprocess.run(["arm-none-eabi-as", f"-mcpu={CPUS[pipeline.name]}", *extra, source, "-o", objects], check=True)
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", objects, binary], check=True)
    return decode(at, binary.read_bytes())


@needs_gcc
@pytest.mark.parametrize(("pipeline", "text", "expected"), SEQUENCES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_sequence_takes_what_the_manual_says(pipeline: Pipeline, text: str, expected: int, tmp_path: Path) -> None:
    group = assembled(pipeline, text, 0, tmp_path)
    assert pipeline.entering(group, ()) + pipeline.inside(group) == expected


@needs_gcc
@pytest.mark.parametrize(("pipeline", "branch", "target", "at", "expected"), BRANCHES)
def test_a_branch_refills_the_pipeline(
    pipeline: Pipeline, branch: str, target: str, at: int, expected: int, tmp_path: Path
) -> None:
    before, after = assembled(pipeline, branch, 0, tmp_path), assembled(pipeline, target, at, tmp_path)
    assert pipeline.entering(before, ()) + pipeline.entering(after, before) == expected


FLASHES = (
    NO_WAIT, FlashTiming(5), FlashTiming(5, prefetch=True), FlashTiming(5, instruction_lines=8),
    FlashTiming(5, data_lines=1), FlashTiming(3, line_bytes=8), FlashTiming(5, instruction_lines=64, unified_ways=2),
)  # fmt: skip


@functools.cache
def pieces() -> tuple[cycles_trace.Cycles, ...]:
    core = CORES["m4"]
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "main.elf"
        build(core, [HERE / "cycles_main.c", *(HERE / name for name in core.start)], image, [f"-I{HERE}"])
        said, (run,) = cycles_trace.trace(core, image, M4, FLASHES)
    assert said == "done\n"
    return tuple(run.operators[n] for n in range(8))


def more(one: int, other: int) -> cycles_trace.Cycles:
    """Cycles by which one piece of code exceeds another."""
    a, b = pieces()[one], pieces()[other]
    stalls = tuple(
        cycles_trace.Stalls(x.fetch - y.fetch, x.data - y.data) for x, y in zip(a.stalls, b.stalls, strict=True)
    )
    return cycles_trace.Cycles(a.instructions - b.instructions, a.pipeline - b.pipeline, stalls)


@needs_gcc
def test_code_waits_for_each_line_of_flash() -> None:
    straight = more(1, 0)  # 64 instructions, 128 bytes
    assert (straight.instructions, straight.pipeline) == (64, 64)
    waits = dict(zip(FLASHES, straight.stalls, strict=True))
    assert waits[NO_WAIT] == cycles_trace.Stalls(0, 0)
    assert waits[FLASHES[1]].fetch == pytest.approx(8 * 5, abs=1)  # the last fetch may wait for the one before it
    assert abs(waits[FLASHES[2]].fetch) <= 1  # 8 instructions take longer than fetching the next line
    assert waits[FLASHES[5]].fetch == pytest.approx(16 * 3, abs=1)
