"""Parses sizes, counts, times and clocks such as 20kB, 3.2M, 50ms and 64MHz."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any

from tflm_memopt.errors import UsageError

BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "k": 2**10, "m": 2**20, "kib": 2**10, "mib": 2**20}
SMALLEST = 100
"""Smallest size in bytes that is accepted without a unit."""
PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
MILLISECONDS = {"": 1, "ms": 1, "s": 1000, "us": 0.001}
MEGAHERTZ = {"": 1, "mhz": 1, "khz": 0.001, "ghz": 1000, "hz": 1e-6}


def size(said: float | str) -> int:
    """Parse a size in bytes, such as "20kB" (20,000 bytes), "64KiB" or "64K" (65,536 bytes).

    Raises UsageError for invalid text, and for a small number without a unit, such as "16".

    >>> size("20kB"), size("64KiB"), size("16K"), size("1.5 kB"), size("20480"), size(512)
    (20000, 65536, 16384, 1500, 20480, 512)
    """
    value = _amount(said, BYTES)
    if value is None or value < 0 or (isinstance(said, float) and not said.is_integer()):
        hint = "20480, 20kB (1,000 B each), 64K or 64KiB (1,024 B each)"
        raise UsageError(f"invalid size '{said}'", hint=hint)
    if isinstance(said, str) and said.strip().isdecimal() and value < SMALLEST:
        hint = f"{said.strip()}K (1,024 B each), {said.strip()}kB (1,000 B each) or {said.strip()}B"
        raise UsageError(f"the size '{said}' needs a unit", hint=hint)
    return round(value)


def number(said: int | str) -> int:
    """Parse a whole number of at least 1, such as 3.2M for 3,200,000. Raises UsageError for invalid text.

    >>> number("3.2M"), number("500k"), number(12)
    (3200000, 500000, 12)
    """
    value = round(_amount(said, PREFIXES) or 0)
    if value < 1:
        raise UsageError(f"invalid count '{said}': it must be a whole number from 1", hint="3200000, 3200k or 3.2M")
    return value


def milliseconds(said: float | str) -> float:
    """Parse a time in milliseconds: "50ms", "0.05 s", or a plain number. Raises UsageError for invalid text.

    >>> milliseconds("50ms"), milliseconds("0.5 s"), milliseconds(20)
    (50.0, 500.0, 20.0)
    """
    value = _amount(said, MILLISECONDS) or 0.0
    if value <= 0:
        raise UsageError(f"invalid time '{said}'", hint="50ms or 0.05s")
    return value


def megahertz(said: float | str) -> float:
    """Parse a clock in MHz: "64MHz", or a plain number. Raises UsageError for invalid text.

    >>> megahertz("64MHz"), megahertz("1.2 GHz"), megahertz(133)
    (64.0, 1200.0, 133.0)
    """
    value = _amount(said, MEGAHERTZ) or 0.0
    if value <= 0:
        raise UsageError(f"invalid clock '{said}'", hint="64MHz")
    return value


def link(said: str | Collection[float]) -> tuple[float, float]:
    """Parse a link's rate in bytes per second and, optionally, its latency in milliseconds.

    Raises UsageError for invalid text.

    >>> link("125kB/s,2ms"), link("92160"), link((92160, 0.5))
    ((125000.0, 2.0), (92160.0, 0.0), (92160.0, 0.5))
    """
    parts: Sequence[float | str] = said.split(",") if isinstance(said, str) else (*said,)
    rate, latency = [*parts, 0, 0][:2]
    found = _amount(rate.lower().removesuffix("/s") if isinstance(rate, str) else rate, BYTES)
    late = _amount(latency, MILLISECONDS)
    if len(parts) > 2 or late is None or not found or found <= 0 or late < 0:
        hint = "bytes a second, and latency: 125kB/s,2ms"
        raise UsageError(f"invalid link '{said}'", hint=hint)
    return found, late


DeviceMemory = tuple[int, int | None]
"""Sizes of a device's RAM and flash in bytes. None stands for unlimited flash."""


def device_memory(said: str | Collection[int | None]) -> DeviceMemory:
    """Parse a device's RAM and optional flash in bytes. Raises UsageError for invalid text.

    >>> device_memory("20kB,128kB"), device_memory([20480])
    ((20000, 128000), (20480, None))
    """
    parts: Sequence[int | str | None] = said.split(",") if isinstance(said, str) else (*said,)
    ram, flash = [*parts, None, None][:2]
    if len(parts) > 2 or not ram:
        raise UsageError(f"invalid memory '{said}'", hint="RAM, or RAM and flash: 20kB or 20kB,128kB")
    return size(ram), None if flash is None else size(flash)


def pools(said: str | Mapping[str, int | str]) -> Mapping[str, int]:
    """Parse the sizes of fast and slow memory in bytes. Raises UsageError for invalid text.

    >>> pools("fast=180kB,slow=4MB"), pools({"slow": "8M"})
    ({'fast': 180000, 'slow': 4000000}, {'slow': 8388608})
    """
    parts = [part.partition("=")[::2] for part in said.split(",")] if isinstance(said, str) else [*said.items()]
    sizes = {str(name).strip(): value for name, value in parts}
    if "slow" not in sizes or sizes.keys() - {"fast", "slow"} or len(sizes) < len(parts):
        raise UsageError(f"invalid value {said!r} for memory", hint="fast=180kB,slow=4MB, or slow=4MB with a board")
    return {name: size(value) for name, value in sizes.items()}


def memory(said: str | Collection[int | None] | Mapping[str, int | str]) -> Mapping[str, int] | DeviceMemory:
    """Parse the sizes of fast and slow memory like pools(), or a device's RAM and flash like device_memory()."""
    if isinstance(said, Mapping) or (isinstance(said, str) and "=" in said):
        return pools(said)
    return device_memory(said)


def is_number(value: Any, kind: Any = Real) -> bool:
    """Return whether a value is a finite number of the type `kind`. Booleans are not numbers.

    >>> is_number(2), is_number("2"), is_number(True), is_number(float("nan"))
    (True, False, False, False)
    """
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(float(value))


def _amount(said: float | str, units: Mapping[str, float]) -> float | None:
    if not isinstance(said, str):
        return float(said) if is_number(said) else None
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", said.strip().lower(), re.ASCII)
    unit = units.get(parts[2]) if parts else None
    return float(parts[1]) * unit if parts and unit else None
