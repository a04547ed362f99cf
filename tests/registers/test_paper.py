"""Reproduce figures 6.5 to 6.7, table 6.1 and the code of chapter 6 of the dissertation on register interfaces."""

import itertools
import re
from collections.abc import Iterator, Sequence

import pytest
from registers.texts import body, chip, function, generated, register

from tflm_memopt.registers.conflicts import Edges, Regions, conflicts, greedy
from tflm_memopt.registers.driver import AccessOp, FieldAccess

GPIO = (
    "bfGroup GPIOPad {{ bit dir; bit in; bit out; bit intEn; uint2 intType; uint8 cfg; }};\n"
    "bfGroup GPIOType {{ bfGroup GPIOPad pads[32]; uint32 {effects} intStatus; }};\n"
    "make_device(GPIOType, gpio, 0x1a101000);\n"
)
A, B = (GPIO.format(effects=effects) for effects in ("rse(intStatus)", "rse(intStatus) rse(GPIOPad::intEn)"))
COMBINE = (
    "void combine_example(bfGroup GPIOPad *pad) {\n"
    "  int dir = pad->dir;\n"
    "  if (pad->intEn && dir)\n"
    "    pad->dir = gpio->intStatus != 0;\n"
    "}\n"
)
FIGURE_A = {("r dir", "w dir"), ("r intEn", "w dir")}
FIGURE_B = {*FIGURE_A, ("r dir", "r intStatus"), ("r intEn", "r intStatus")}


def regions(classes: list[list[FieldAccess]]) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(map(str, region)) for region in classes)


def two_colorings(accesses: list[FieldAccess], edges: Edges) -> Iterator[frozenset[frozenset[str]]]:
    for chosen in itertools.product((0, 1), repeat=len(accesses)):
        by_order = {access.order: color for access, color in zip(accesses, chosen, strict=True)}
        if all(by_order[a] != by_order[b] for a, b in edges):
            classes = [
                [a for a in accesses if by_order[a.order] == color and a.op is op]
                for color in (0, 1)
                for op in AccessOp
            ]
            yield regions([region for region in classes if region])


def of(*several: str) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(region.split(", ")) for region in several)


ALL_READS = of("r dir, r intEn, r intStatus", "w dir")
STATUS_ALONE = of("r dir, r intEn", "r intStatus", "w dir")


def colors(accesses: Sequence[FieldAccess], edges: Edges) -> Regions:
    classes = greedy(accesses, lambda members, access: all((m.order, access.order) not in edges for m in members))
    return [region for members in classes for op in AccessOp if (region := [a for a in members if a.op is op])]


def check_a(accesses: list[FieldAccess], edges: Edges) -> None:
    """In figure 6.5 (a) of the dissertation, all reads may be combined."""
    assert named(accesses, edges) == FIGURE_A
    assert set(two_colorings(accesses, edges)) == {ALL_READS, STATUS_ALONE}
    assert regions(colors(accesses, edges)) == ALL_READS


def check_b(accesses: list[FieldAccess], edges: Edges) -> None:
    """In figure 6.5 (b) of the dissertation, a separate access reads intStatus."""
    assert named(accesses, edges) == FIGURE_B
    assert set(two_colorings(accesses, edges)) == {STATUS_ALONE}
    assert regions(colors(accesses, edges)) == STATUS_ALONE


def named(accesses: list[FieldAccess], edges: Edges) -> set[tuple[str, str]]:
    names = {access.order: str(access) for access in accesses}
    return {(names[a], names[b]) for a, b in edges}


CHECKS = {"a": (A, check_a), "b": (B, check_b)}


@pytest.mark.parametrize("variant", CHECKS)
def test_figure_6_5(variant: str) -> None:
    fields, check = CHECKS[variant]
    found = function(COMBINE, fields)
    check(found.accesses, conflicts(found))


def test_the_code_of_6_5() -> None:
    """In the printed code of figure 6.5 (b), a single read loads both fields of the pad."""
    assert body(COMBINE, B) == (
        "void combine_example(struct GPIOPad *pad) {\n"
        "  uint32_t reg1, reg2;\n"
        "  HAL_READ_GPIOPad_dir_intEn(pad, &reg1, &reg2);\n"
        "  int dir = reg1;\n"
        "  if (reg2 && dir)\n"
        "    HAL_WRITE_GPIOPad_dir(pad, HAL_READ_GPIOType_intStatus(gpio) != 0);\n"
        "}"
    )


ALIGNED = {"yes": 0, "no": 4}
TABLE_6_1 = {
    ("read", "yes", "yes"): (1, 0, 0), ("read", "no", "yes"): (1, 1, 0),
    ("read", "yes", "no"): (1, 0, 1), ("read", "no", "no"): (1, 1, 1),
    ("write", "yes", "yes"): (1, 0, 0), ("write", "no", "yes"): (1, 1, 0),
    ("write", "yes", "no"): (2, 0, 1), ("write", "no", "no"): (2, 1, 1),
}  # fmt: skip
"""For a write to a register with several fields, the dissertation counts 3 accesses, and the generated code needs 2.
The dissertation assumes that unused bits read as 0, and the generated code masks them.
"""


@pytest.mark.parametrize("row", TABLE_6_1, ids="-".join)
def test_table_6_1(row: tuple[str, str, str]) -> None:
    op, aligned, exclusive = row
    other = [] if exclusive == "yes" else ["other:16:8"]
    fields = chip(register("R", 0, f"f:{ALIGNED[aligned]}:8", *other))
    text = "dev->R.f = 1;" if op == "write" else "(void)dev->R.f;"
    header = generated(f"void use(void) {{ {text} }}", fields).files["driver_registers.h"]
    code = header[header.index("static inline") :]
    accesses, shifts, masks = TABLE_6_1[row]
    assert len(re.findall(r"REG_(?:READ|WRITE)32\(", code)) == accesses
    assert len(re.findall(r"<<|>>", code)) == shifts
    assert len(re.findall(r" & ", code)) == (1 if op == "read" else masks + 2)


SIDE_EFFECTS = {
    "rse(a) a": ("bit rse(a) a; bit b;", "x = dev->a; y = dev->b; x += dev->a;", "r a, r b | r a"),
    "rse(b) a": ("bit rse(b) a; bit b;", "x = dev->b; x += dev->a; y = dev->b;", "r b | r a | r b"),
    "wse(a) a": ("bit wse(a) a; bit b;", "dev->b = x; dev->a = 1; dev->b = y;", "w b | w a | w b"),
    "wse(b) a": ("bit wse(b) a; bit b;", "x = dev->b; dev->a = 1; y = dev->b;", "r b | w a | r b"),
}


@pytest.mark.parametrize("scenario", SIDE_EFFECTS)
def test_side_effects_of_6_3_2(scenario: str) -> None:
    members, text, expected = SIDE_EFFECTS[scenario]
    fields = f"bfGroup G {{ {members} }};\nmake_device(G, dev, 0x1000);"
    made = generated(f"void use(unsigned x, unsigned y) {{ {text} }}", fields)
    several = [region for region in expected.split(" | ") if ", " in region]
    assert [", ".join(region) for region in made.regions.get("use", ())] == several
    assert made.combined.calls == len(expected.split(" | "))
