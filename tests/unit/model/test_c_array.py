"""The reader finds models in C and C++ source files, as xxd -i or tflm-memopt writes them."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflm_memopt.emit.array import model_source
from tflm_memopt.errors import ModelError
from tflm_memopt.model.c_array import model_of

MODEL = bytes([0x1C, 0, 0, 0]) + b"TFL3" + bytes(range(0, 256, 5))
HEX = ", ".join(f"0x{byte:02x}" for byte in MODEL)

WRITTEN: Mapping[str, str] = {
    "xxd -i": f"unsigned char m_tflite[] = {{\n  {HEX}\n}};\nunsigned int m_tflite_len = {len(MODEL)};\n",
    "decimal": f"const unsigned char g_model[{len(MODEL)}] = {{{', '.join(map(str, MODEL))},}};",
    "int8": f"static const int8_t m[] = {{{','.join(str(b - 256 if b > 127 else b) for b in MODEL)}}};",
    "octal and suffixes": f"const uint8_t m[] = {{{','.join(f'0{b:o}u' for b in MODEL)}}};",
    "aligned": f"// {{ 1, 2 }}\nalignas(16) const std::uint8_t m[kLength] = {{ /* TFL3 */ {HEX} }};",
    "attribute": f'[[gnu::aligned(16)]] const char m[] __attribute__((section(".tflm"))) = {{{HEX}}};',
    "macro": f"#ifdef __has_attribute\n#define A[] = {{\n#endif\nconst unsigned char m[] A = {{{HEX}}};",
    "without =": f"constexpr unsigned char m[]{{{HEX}}};",
    "several": f"const unsigned char image[] = {{1, 2, 3}};\nint a[] = {{28, 0}};\nunsigned char m[] = {{{HEX}}};"
    "\nint main() { return image[0]; }",
    "Windows": f"unsigned char m[] = {{\r\n  {HEX}\r\n}};\r\n",
}


@pytest.mark.parametrize("source", WRITTEN.values(), ids=WRITTEN)
def test_as_people_write_them(source: str) -> None:
    assert model_of(source.encode()) == MODEL


DAMAGED: Mapping[str, tuple[str, str]] = {
    "none": ("int main() { return 0; }", "no arrays in this source begin like a model"),
    "other": ("const uint8_t a[] = {1, 2}; uint8_t b[] = {};", "no arrays"),
    "two": (f"uint8_t a[] = {{{HEX}}}, b[] = {{{HEX}}};", "2 arrays"),
    "cut off": (f"uint8_t a[] = {{{HEX}", "closing brace is missing"),
    "no byte": (f"uint8_t a[] = {{{HEX}, 256}};", "'256' is not a byte"),
    "no number": (f"uint8_t a[] = {{{HEX}, SIZE}};", "'SIZE' is not a byte"),
}


@pytest.mark.parametrize(("source", "says"), DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_model(source: str, says: str) -> None:
    with pytest.raises(ModelError, match=re.escape(says)) as raised:
        model_of(source.encode())
    assert raised.value.code == "not_a_model"


@given(
    st.lists(
        st.sampled_from([b"uint8_t ", b"a", b"[", b"]", b"=", b"{", b"}", b"'", b'"', b"/*", b"*/", b"\n#", b"0x1c,"])
    )
)
def test_any_text_is_read_or_refused(parts: list[bytes]) -> None:
    with pytest.raises(ModelError):
        model_of(b"".join(parts))


@given(st.binary(max_size=64))
def test_what_we_write_is_read(rest: bytes) -> None:
    assert model_of(model_source("any name", MODEL + rest).encode()) == MODEL + rest


@pytest.mark.parametrize("part", [b"uint8_t a[", b'"', b'\\"', b"/*", b"[[", b"char ", b"{", b"'\\"])
def test_a_hostile_file_is_read_once(part: bytes) -> None:
    """The time for reading a file is at most proportional to its size."""
    with pytest.raises(ModelError):
        model_of(part * (100_000 // len(part)))
