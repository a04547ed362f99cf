"""Generates C from a driver and a description of its registers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from tflm_memopt.files import paths_below, write_files
from tflm_memopt.registers import accessors, header, layout, parse, rewrite, source, svd
from tflm_memopt.registers.conflicts import Combining, Regions
from tflm_memopt.registers.driver import AccessOp, Driver, FieldAccess
from tflm_memopt.registers.flatten import Groups, Spot, flatten, spot_of
from tflm_memopt.registers.layout import Layout
from tflm_memopt.registers.parse import ParsedFile


@dataclass(frozen=True, slots=True)
class Version:
    driver: str
    header: str
    calls: int
    loads: int
    stores: int

    def to_json(self) -> dict[str, Any]:
        return {"calls": self.calls, "loads": self.loads, "stores": self.stores, "accesses": self.loads + self.stores}


@dataclass(frozen=True, slots=True)
class Generated:
    driver: str
    files: Mapping[str, str]
    plain: Version
    combined: Version
    memory_map: int
    regions: Mapping[str, Sequence[Sequence[str]]]

    def save(self, folder: str | PathLike[str], sources: Collection[Path] = ()) -> list[Path]:
        """Write the generated files to `folder`, or no file if a path is in `sources` or cannot be written."""
        files = paths_below(Path(folder), {name: text.encode() for name, text in self.files.items()})
        return write_files(files, sources)

    def to_json(self) -> dict[str, Any]:
        return {
            "driver": self.driver,
            "files": list(self.files),
            "plain": self.plain.to_json(),
            "combined": self.combined.to_json(),
            "memory_map_bytes": self.memory_map,
            "regions": self.regions,
        }


def generate(
    driver_path: Path, driver_text: str, description_path: Path, description_text: str, *, place: bool = False,
    folders: Sequence[Path] = (),
) -> Generated:  # fmt: skip
    """Return the generated files and the report. Raises RegisterError.

    If `place` is true, the function chooses the bits of each field, even if the description already states the bits.
    The parser searches `folders` for headers.
    """
    is_svd = description_path.suffix.lower() in (".svd", ".xml")
    description = (svd if is_svd else header).read(description_path, description_text)
    header_text = svd.declarations(description) if is_svd else description_text
    unit, driver = source.read(driver_path, driver_text, description, description_path, header_text, folders)
    groups = flatten(description, driver)
    name = f"{driver_path.stem}_registers"
    guard = "".join(letter if letter.isalnum() else "_" for letter in name).upper()
    places = _Places(unit, driver, groups, (description_path.name, f"{name}.h"))
    found = places.placed() if place or not description.is_fixed else layout.fixed(groups)

    def version(regions: Mapping[str, Regions]) -> Version:
        rewritten = places.rewritten(found, regions)
        text = accessors.header(f"{guard}_H_", description.devices, found, rewritten.calls)
        return Version(rewritten.text, text, len(rewritten.calls), *accessors.bus_accesses(rewritten.calls, found))

    alone = {function.name: [[access] for access in function.accesses] for function in driver.functions}
    regions = places.regions(found)
    combined = version(regions)
    files = {
        driver_path.name: combined.driver,
        f"{name}.h": combined.header,
        f"{name}.svd": svd.write(driver_path.stem, description.devices, found),
        parse.WORDS: parse.words(),
    }
    nbytes = sum(found[device.group].nbytes for device in description.devices)
    names = {function: [list(map(str, r)) for r in several if len(r) > 1] for function, several in regions.items()}
    combinations = {function: several for function, several in names.items() if several}
    return Generated(driver_path.name, files, version(alone), combined, nbytes, combinations)


@dataclass(frozen=True, slots=True)
class _Places:
    unit: ParsedFile
    driver: Driver
    groups: Groups
    includes: tuple[str, str]

    def rewritten(self, found: Layout, regions: Mapping[str, Regions]) -> rewrite.Rewritten:
        return rewrite.rewrite(self.unit, self.driver, self.groups, found, regions, self.includes)

    def placed(self) -> Layout:
        """Choose the layout with the fewest accesses, without combinations of fields that cost more than they save."""
        wanted = self.combinations()
        best = layout.place(self.groups, wanted)
        fewest = self._accesses(best)
        for one in reversed(layout.combinations(wanted)):
            less = [combination for combination in wanted if combination != one]
            found = layout.place(self.groups, less)
            if (count := self._accesses(found)) < fewest:
                wanted, best, fewest = less, found, count
        return best

    def _accesses(self, found: Layout) -> int:
        return sum(accessors.bus_accesses(self.rewritten(found, self.regions(found)).calls, found))

    def regions(self, found: Layout | None) -> dict[str, Regions]:
        """For each function, return the sets of accesses that can be combined to a single access to a register. Without
        a layout, all fields of a group count as one register.
        """

        def acts(access: FieldAccess) -> bool:
            field = access.field
            has_effect = field.read_acts if access.op is AccessOp.READ else field.write_acts
            if has_effect or field.key in self.driver.used_by_interrupts:
                return True
            spot = spot_of(self.groups, access)
            return found is not None and found[spot.group].find(spot.name)[0].read_acts

        def together(one: FieldAccess, other: FieldAccess) -> bool:
            a, b = spot_of(self.groups, one), spot_of(self.groups, other)
            if a.group != b.group or self._words(a) != self._words(b):
                return False
            if found is None:
                return True
            (first, field), (second, other_field) = found[a.group].find(a.name), found[b.group].find(b.name)
            return first == second and not (field.place.bit_step or other_field.place.bit_step)

        return {function.name: Combining(function, acts, together).regions() for function in self.driver.functions}

    def combinations(self) -> list[layout.Combination]:
        regions = [region for regions in self.regions(None).values() for region in regions]
        spots = [[spot_of(self.groups, access) for access in region] for region in regions]
        return [frozenset((spot.group, spot.name) for spot in several) for several in spots]

    def _words(self, spot: Spot) -> list[str]:
        return [self.unit.text_of(span) for span in (spot.anchor, spot.index) if span]
