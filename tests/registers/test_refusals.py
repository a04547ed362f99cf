"""Invalid input is refused with file and line, and leaves no files."""

import pytest
from registers.texts import chip, generated, register

from tflm_memopt.errors import RegisterError

G = "bfGroup G {{ {} }};\nmake_device(G, dev, 0x1000);"
ONE = G.format("bit a; uint4 n[4];")
USE = "void use(void) { dev->a = 1; }"
NO_NAMES = "<peripherals><peripheral><registers><register/></registers></peripheral></peripherals>"
CASES = (
    # Each entry has a driver, a description, the place of an error, and a part of the error's message.
    (USE, G.format("bit a;\n uint33 wide;"), "fields.h:4", "33 bits, its register 32"),
    ("", chip(register("R", 0, "a:0:4", "b:3:2")), "chip.svd:8", "a and b of dev_Type_R overlap"),
    ("", chip(register("R", 0, "a:30:4")), "chip.svd:7", "ends at bit 33"),
    (USE, G.format("bit a;\n bit access_type(sometimes) b;"), "fields.h:4", "'sometimes'"),
    (USE, G.format("bit rse(nothing) a;"), "fields.h:3", "affects G::nothing"),
    (USE, "bfGroup G { bit a; };", "fields.h:1", "no device"),
    (USE, G.format("bit a;\n float x;"), "fields.h:4", "float"),
    (USE, "bfGroup G { bit a; };\nint x;\nmake_device(G, dev, &x);", "fields.h:5", "&x"),
    ("", "<device>\n<peripherals", "chip.svd:2", "XML"),
    ("void use(void) {\n  dev->missing = 1;\n}", ONE, "driver.c:2", "missing"),
    ("void use(void) {\n  while (!dev->a) {\n  }\n}", ONE, "driver.c:2", "has no bound"),
    ("void use(void) {\n  dev->n[4] = 1;\n}", ONE, "driver.c:2", "index 4 is invalid"),
    ("void *use(void) {\n  return &dev->a;\n}", ONE, "driver.c:2", "&dev->a"),
    ("unsigned use(void) {\n  return dev->a++;\n}", ONE, "driver.c:2", "dev->a++"),
    ("#define GO dev->a = 1\nvoid use(void) {\n  GO;\n}", ONE, "driver.c:3", "macro"),
    (
        "void use(void) {\n  dev->a = 1;\n}", G.format("bit access_type(read_only) a;"), "driver.c:2", "is written here"
    ),
    ("", chip(register("R", 0, "a:0:4", more="\n<access>often</access>")), "chip.svd:7", "'often'"),
    ("", chip(register("R", 0, "a:0:4"), '\n<wse field="R.b"/>'), "chip.svd:11", "'R.b'"),
    ("", '<device schemaVersion="1.3"><name>d</name></device>', "chip.svd:1", "no peripheral"),
    ("", f"<device>{NO_NAMES}</device>", "chip.svd:1", "CMSIS-SVD"),
    (
        "unsigned use(void) {\n  return dev->a;\n}", G.format("bit access_type(write_only) a;"), "driver.c:2", "is read"
    ),
    ("void use(void) {\n  for (;;) dev->a = 1;\n}", ONE, "driver.c:2", "has no bound"),
)  # fmt: skip


def refused(driver: str, description: str) -> RegisterError:
    with pytest.raises(RegisterError) as found:
        generated(driver, description)
    return found.value


@pytest.mark.parametrize(("driver", "description", "where", "says"), CASES)
def test_refusals(driver: str, description: str, where: str, says: str) -> None:
    error = refused(driver, description)
    assert (error.code, error.where) == ("bad_registers", where)
    assert says in error.what
    assert error.hint


BOUNDED = (
    "for (int i = 0; i < 9 && !dev->a; ++i) {}",
    "for (int i = 9; i > 0; i -= 2) dev->a = 1;",
    "int n = 9; while (n-- && !dev->a) {}",
    "int n = 9; while (--n != 0 && !dev->a) {}",
    "int n = 9; do { n--; } while (n > 0 && dev->a);",
    "do { dev->a = 1; } while (0);",
    "int n = 9; while (n && !dev->a) { --n; }",
    "while (1) {}",
)
UNBOUNDED = (
    "for (;;) dev->a = 1;",
    "while (!dev->a) {}",
    "while (1) dev->a = 1;",
    "for (int i = 0; i < 9; --i) dev->a = 1;",
    "for (int i = 0; i < 9; i *= 2) dev->a = 1;",
    "for (int i = 0; i < 9; ++i) { i = 0; dev->a = 1; }",
    "int n = 9; for (int i = 0; i < n; ++i) { n = 9 + i; dev->a = 1; }",
    "for (unsigned i = 0; i < dev->n[0]; ++i) dev->a = 1;",
    "volatile int n = 9; while (n-- && dev->a) {}",
    "int n = 9; while (n-- || dev->a) {}",
    "do { dev->a = 1; } while (dev->a);",
)


@pytest.mark.parametrize("text", BOUNDED)
def test_loops_with_a_bound_are_taken(text: str) -> None:
    generated(f"void use(void) {{ {text} }}", ONE)


@pytest.mark.parametrize("text", UNBOUNDED)
def test_loops_without_a_bound_are_refused(text: str) -> None:
    assert refused(f"void use(void) {{ {text} }}", ONE).code == "bad_registers"
