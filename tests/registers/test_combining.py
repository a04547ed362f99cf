"""Test which accesses are combined and which must not be, one text case each. Random drivers test the same on the
bus.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cmsis_svd.parser import SVDParser
from conftest import thinned
from registers import randomly
from registers.drivers import FIXED, LAYOUT
from registers.plain import DRIVERS, LANGUAGES, PLAIN, WARNINGS
from registers.texts import body, chip, generated, register

from tflm_memopt.registers import parse, svd
from tflm_memopt.registers.conflicts import Combining

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
CONTEXT = """\
void outside(void);
extern volatile int flag;
static unsigned twice(unsigned v) {{ return 2 * v; }}
void use(unsigned x) {{ {} x = twice(x); }}
"""


@pytest.mark.parametrize("case", MERGED)
def test_merged(case: str) -> None:
    text, expected = MERGED[case]
    made = generated(CONTEXT.format(text), CHIP)
    assert len(made.regions["use"]) == 1
    assert expected in made.files["driver.c"]


@pytest.mark.parametrize("case", KEPT)
def test_not_merged(case: str) -> None:
    assert generated(CONTEXT.format(KEPT[case]), CHIP).regions == {}


def test_nothing_is_combined_where_nothing_is_known_of_side_effects() -> None:
    unknown = CHIP.replace('<sideEffects peripheral="dev"><wse field="S.t"/></sideEffects>', "")
    assert generated("void use(void) { dev->R.a = 1; dev->R.b = 2; }", unknown).regions == {}


def test_what_an_interrupt_reaches_stays() -> None:
    isr = "interrupt_handler void isr(void) { dev->R.c = 0; }\n"
    text = "void use(void) { dev->R.a = 1; dev->R.c = 1; dev->R.b = 2; }"
    assert generated(text, CHIP).regions == {"use": [["w a", "w c", "w b"]]}
    assert generated(isr + text, CHIP).regions == {}
    assert body(isr, CHIP).startswith("void isr(void)")


def test_a_read_that_clears_stays() -> None:
    clears = chip(register("R", 0, "a:0:4", "b:4:4", "c:8:4:<access>read-only</access><readAction>clear</readAction>"))
    assert generated("void use(void) { dev->R.a = 1; dev->R.b = 2; }", clears).regions == {}
    assert generated("unsigned use(void) { return dev->R.a + dev->R.b; }", clears).regions == {}


def test_a_value_that_changes_on_its_own_is_read_each_time() -> None:
    changes = chip(register("R", 0, "a:0:4", "b:4:4", more="<access>read-only</access>"))
    assert generated("unsigned use(void) { return dev->R.a + dev->R.a; }", changes).regions == {}
    text = "unsigned use(void) { unsigned x = dev->R.a; for (int i = 0; i < 2; ++i) x += dev->R.b; return x; }"
    assert generated(text, changes).regions == {}


@pytest.mark.parametrize(
    ("first", "second"), [("i", "j"), ("i", "f()"), ("f()", "f()"), ("i++", "i")], ids=lambda text: text
)
def test_other_elements_are_other_registers(first: str, second: str) -> None:
    array = chip(register("R[%s]", 0, "a:0:4", "b:4:4", more="<dim>4</dim><dimIncrement>4</dimIncrement>"))
    text = f"int f(void); void use(int i, int j) {{ dev->R[{first}].a = 1; dev->R[{second}].b = j; }}"
    assert generated(text, array).regions == {}
    same = "void use(int i) { dev->R[i].a = 1; dev->R[i].b = 2; }"
    assert "R_a_b(&dev->R[i], 1, 2)" in generated(same, array).files["driver.c"]


def test_bits_to_clear_are_written_alone() -> None:
    """Writing back a neighbour's ones would clear it; a reserved bit gets its reset value."""
    flags = chip(register("R", 0, "f:0:1:<modifiedWriteValues>oneToClear</modifiedWriteValues>", "g:1:1"))
    header = generated("void use(void) { dev->R.f = 1; dev->R.g = 1; }", flags).files["driver_registers.h"]
    assert "REG_READ32((uintptr_t)grp + 0u) & 0xfffffffeu) | (write_value0 & 0x1u)" in header
    assert "const uint32_t r = (uint32_t)(((write_value0 & 0x1u) << 1u));" in header
    unknown = flags.replace("<resetValue>0</resetValue>", "")
    header = generated("void use(void) { dev->R.g = 1; }", unknown).files["driver_registers.h"]
    assert "& 0xfffffffcu) | ((write_value0 & 0x1u) << 1u)" in header


def test_what_is_written_can_be_read_again() -> None:
    """The layout, written as SVD, keeps the side effects."""
    text = FIXED["spi"].generated().files["spi_registers.svd"]
    valid, why = SVDParser.validate_xml_str(text.encode(), "latest", False)
    assert valid, why
    found = {field.name: field for group in svd.read(Path("spi.svd"), text).groups.values() for field in group.fields}
    assert [name for name, field in found.items() if field.write_acts] == ["CR1_SPE", "DR"]
    assert [name for name, field in found.items() if field.read_acts] == ["DR"]
    assert found["SR_RXNE"].is_volatile and not found["CR1_BR"].is_volatile


@pytest.mark.parametrize("name", DRIVERS)
def test_descriptions_are_valid_svd(name: str) -> None:
    assert SVDParser.validate_xml_file(str(FIXED[name].description), "latest", False) == (True, "")


def test_drivers_are_valid_c_before_they_are_rewritten(tmp_path: Path) -> None:
    """Section 6.3.4: they compile with the support header that each run writes."""
    (tmp_path / "register_words.h").write_text(parse.words())
    driver = LAYOUT["gpio"].driver
    for language in LANGUAGES.values():
        folders = [f"-I{folder}" for folder in (PLAIN, tmp_path, driver.parent)]
        subprocess.run([*language, *WARNINGS, *folders, "-fsyntax-only", driver], check=True)


# --- the oracle


@pytest.mark.slow
@pytest.mark.parametrize("seeds", thinned([range(8), range(8, 25)], 1), ids=str)
def test_random_drivers(seeds: range, tmp_path: Path) -> None:
    """`make soak KIND=registers N=10000` runs more."""
    results = randomly.run(seeds, tmp_path)
    assert [result for result in results if not result.is_equal] == []
    assert all(result.generated <= result.plain for result in results)
    assert sum(r.generated for r in results) < 0.95 * sum(r.plain for r in results)


@pytest.mark.slow
def test_more_random_drivers(tmp_path: Path) -> None:
    assert [result for result in randomly.run(range(1000, 1100), tmp_path) if not result.is_equal] == []


BROKEN = {"_stops": lambda self, event, write: False, "_disturbs": lambda self, *rest: False}


@pytest.mark.slow
@pytest.mark.parametrize("rule", BROKEN)
def test_the_bus_sees_a_rule_that_is_missing(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the oracle detects faults."""
    monkeypatch.setattr(Combining, rule, BROKEN[rule])
    assert any(not result.is_equal for result in randomly.run(range(25), tmp_path))
