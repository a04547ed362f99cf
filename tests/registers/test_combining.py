"""Test how the generator combines accesses to fields of one register."""

import pytest
from registers.texts import chip, generated, register

R = register("R", 0, "a:0:4", "b:4:4", "c:8:4")
S = register("S", 4, "t:0:1", "u:1:4")
CHIP = chip(R + "\n" + S, '<wse field="S.t"/>')
MERGED = {
    "neighbours": ("dev->R.a = 1; dev->R.b = 2;", "HAL_WRITE_dev_Type_R_a_R_b(dev, 1, 2)"),
    "another register between": ("dev->R.a = 1; dev->S.u = 3; dev->R.b = 2;", "R_a_R_b(dev, 1, 2)"),
    "a value is kept": ("dev->R.a = x; x = 0; dev->R.b = x;", "const uint32_t reg1 = x; x = 0;"),
    "a read under a branch": ("if (dev->R.a) x = dev->R.b;", "if (reg1) x = reg2;"),
    "a read in a loop": ("x = dev->R.a; for (int i = 0; i < 3; ++i) x += dev->R.b;", "x += reg2"),
    "a branch between writes": ("dev->R.a = 1; if (x) x = 2; dev->R.b = 2;", "R_a_R_b(dev, 1, 2)"),
    "a call that does nothing": ("dev->R.a = 1; x = twice(x); dev->R.b = 2;", "R_a_R_b(dev, 1, 2)"),
}
KEPT = {
    "a side effect": "dev->R.a = 1; dev->S.t = 1; dev->R.b = 2;",
    "a call": "dev->R.a = 1; outside(); dev->R.b = 2;",
    "a volatile variable": "dev->R.a = 1; flag = 1; dev->R.b = 2;",
    "assembly": 'dev->R.a = 1; __asm__(""); dev->R.b = 2;',
    "a read of what is written": "dev->R.a = 1; x = dev->R.a; dev->R.b = 2;",
    "a write of what is read": "x = dev->R.a; dev->R.b = 1; x += dev->R.b;",
    "a return": "dev->R.a = 1; if (x) return; dev->R.b = 2;",
    "a branch around a write": "dev->R.a = 1; if (x) dev->R.b = 2;",
    "a loop around a write": "dev->R.a = 1; for (int i = 0; i < 2; ++i) dev->R.b = 2;",
    "two writes of one field": "dev->R.a = 1; dev->R.a = 2;",
    "a jump": "dev->R.a = 1; again: dev->R.b = 2; if (x--) goto again;",
    "another label of a switch": "switch (x) { case 0: dev->R.a = 1; case 1: dev->R.b = 2; }",
}
CONTEXT = (
    "void outside(void);\n"
    "extern volatile int flag;\n"
    "static unsigned twice(unsigned v) {{ return 2 * v; }}\n"
    "void use(unsigned x) {{ {} x = twice(x); }}\n"
)


@pytest.mark.parametrize("case", MERGED)
def test_merged(case: str) -> None:
    text, expected = MERGED[case]
    made = generated(CONTEXT.format(text), CHIP)
    assert len(made.regions["use"]) == 1
    assert expected in made.files["driver.c"]


@pytest.mark.parametrize("case", KEPT)
def test_not_merged(case: str) -> None:
    assert generated(CONTEXT.format(KEPT[case]), CHIP).regions == {}


def test_reserved_bits_do_not_change_a_value() -> None:
    """A chip may return any value in the bits above the highest field, whatever the description's reset value is."""
    made = generated("unsigned use(void) { return dev->R.c; }", CHIP)
    assert "return (r >> 8u) & 0xfu;" in made.files["driver_registers.h"]
