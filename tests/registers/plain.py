"""Finds the hand-written drivers of examples/registers."""

from conftest import ROOT

PLAIN = ROOT / "examples/registers/plain"
DRIVERS = ("gpio", "spi", "camera")
WARNINGS = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
LANGUAGES = {"c11": ("cc", "-std=c11"), "c++11": ("c++", "-x", "c++", "-std=c++11")}
