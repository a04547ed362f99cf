"""Writes the driver's C code with each field access replaced by an accessor call (6.5)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.registers.accessors import Accessor, value_type
from tflm_memopt.registers.conflicts import Regions
from tflm_memopt.registers.driver import AccessOp, Driver, FieldAccess, Function, Span
from tflm_memopt.registers.flatten import Groups, spot_of
from tflm_memopt.registers.layout import Layout
from tflm_memopt.registers.parse import ParsedFile

TEMPORARY = "reg"
Text = tuple[str | Span, ...]
"""Text that consists of strings and of pieces of the driver's source. Edits inside a piece are applied to the piece."""
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")


@dataclass(frozen=True, slots=True)
class Rewritten:
    text: str
    calls: tuple[Accessor, ...]


def rewrite(
    unit: ParsedFile,
    driver: Driver,
    groups: Groups,
    layout: Layout,
    regions: Mapping[str, Regions],
    header: tuple[str, str],
) -> Rewritten:
    """Return the driver with accessor calls. The returned driver includes `header[1]` instead of `header[0]`."""
    writer = _Writer(unit, groups, layout)
    for function in driver.functions:
        writer.function(function, regions[function.name])
    for span, plain in driver.words:
        writer.edit(span, (plain,))
    text, include = writer.rendered((0, len(unit.data))), f'#include "{header[1]}"'
    found = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*"[^"\n]*\b{re.escape(header[0])}"', re.MULTILINE)
    text = found.sub(include, text) if found.search(text) else f"{include}\n{text}"
    return Rewritten(text, tuple(writer.calls))


_Edit = tuple[Span, Text]
"""A span of the source, and the text that replaces the span. A span without characters is the position at which the
text is inserted.
"""


class _Writer:
    def __init__(self, unit: ParsedFile, groups: Groups, layout: Layout) -> None:
        self.unit, self.groups, self.layout = unit, groups, layout
        self.edits: list[_Edit] = []
        self.calls: list[Accessor] = []
        self._taken = {spelling for _, _, spelling in unit.tokens}
        self._count = 0

    def function(self, function: Function, regions: Regions) -> None:
        values: dict[int, str] = {}
        for region in regions:
            if region[0].op is AccessOp.READ and len(region) > 1:
                values |= self._combined_read(region)
        for region in regions:
            if region[0].op is AccessOp.WRITE and len(region) > 1:
                self._combined_write(region, values)
        several = {access.order for region in regions if len(region) > 1 for access in region}
        for access in function.accesses:
            if access.op is AccessOp.READ and not access.operator and access.order not in several:
                self.edit(access.span, self._call(AccessOp.READ, [access]))
            elif access.op is AccessOp.WRITE and access.order not in several:
                self.edit(access.span, self._call(AccessOp.WRITE, [access], [self._value(access, values)]))

    def _combined_read(self, region: Sequence[FieldAccess]) -> dict[int, str]:
        """Map the index of each access to the name of the variable that holds the accessed value."""
        lead = region[0]
        fields = self._by_name(region)
        names = {name: self._temporary() for name in fields}
        kind = value_type(max(access.field.bits for access in region))
        spots = list(fields.values())
        if len(spots) == 1:
            (variable,) = names.values()
            before: Text = (f"const {kind} {variable} = ", *self._call(AccessOp.READ, spots))
        else:
            declared = "".join(f"{value_type(a.field.bits)} {names[name]};\n" for name, a in fields.items())
            if len({value_type(a.field.bits) for a in spots}) == 1:
                declared = f"{kind} {', '.join(names.values())};\n"
            before = (declared, *self._call(AccessOp.READ, spots, [(f"&{names[name]}",) for name in fields]))
        self._before(lead.host.span[0], (*before, ";"))
        found = {}
        for access in region:
            found[access.order] = names[spot_of(self.groups, access).name]
            if not access.operator:
                self.edit(access.span, (found[access.order],))
        return found

    def _combined_write(self, region: Sequence[FieldAccess], values: Mapping[int, str]) -> None:
        *early, last = region
        kept: dict[int, Text] = {}
        for access in early:
            text = self._value(access, values)
            source = self.unit.text_of(access.value) if access.value else ""
            if access.operator == "=" and _NUMBER.fullmatch(source):
                kept[access.order] = (source,)
                self.edit(self._whole_line(access.host.span), ())
            else:
                name = self._temporary()
                kept[access.order] = (name,)
                self.edit(access.span, (f"const {value_type(access.field.bits)} {name} = ", *text))
        kept[last.order] = self._value(last, values)
        members = self._by_name(region)
        arguments = [kept[access.order] for access in members.values()]
        self.edit(last.span, self._call(AccessOp.WRITE, list(members.values()), arguments))

    def _by_name(self, region: Sequence[FieldAccess]) -> dict[str, FieldAccess]:
        by_name = {spot_of(self.groups, access).name: access for access in reversed(region)}
        register, _ = self.layout[spot_of(self.groups, region[0]).group].find(next(iter(by_name)))
        return {field.name: by_name[field.name] for field in register.fields if field.name in by_name}

    def _value(self, access: FieldAccess, values: Mapping[int, str]) -> Text:
        right = (access.value,) if access.value else ()
        if access.operator == "=":
            return right
        read_order = access.order - 1
        old = (values[read_order],) if read_order in values else self._call(AccessOp.READ, [access])
        if not right:
            return *old, f" {access.operator[0]} 1u"
        return *old, f" {access.operator[:-1]} (", *right, ")"

    def _call(self, op: AccessOp, accesses: Sequence[FieldAccess], arguments: Sequence[Text] = ()) -> Text:
        spots = [spot_of(self.groups, access) for access in accesses]
        accessor = Accessor(op, spots[0].group, tuple(spot.name for spot in spots))
        self.calls.append(accessor)
        text: Text = (f"{accessor.name}(" + "&" * (not spots[0].is_pointer), spots[0].anchor)
        for argument in ((spots[0].index,) if spots[0].index else (), *arguments):
            text = (*text, ", ", *argument) if argument else text
        return *text, ")"

    def edit(self, span: Span, text: Text) -> None:
        self.edits.append((span, text))

    def _before(self, offset: int, text: Text) -> None:
        line = self.unit.data.rfind(b"\n", 0, offset) + 1
        indent = self.unit.data[line:offset].decode()
        indent = indent if not indent.strip() else " "
        separator = "\n" + indent if indent != " " else " "
        lines = (piece.replace("\n", separator) if isinstance(piece, str) else piece for piece in text)
        self.edit((offset, offset), (*lines, separator))

    def _whole_line(self, span: Span) -> Span:
        """Return the span of a statement with its semicolon, or of the line if the line contains nothing else."""
        first, end = span
        end = self.unit.data.index(b";", end) + 1 if self.unit.data[end - 1 : end] != b";" else end
        start = self.unit.data.rfind(b"\n", 0, first) + 1
        newline = self.unit.data.find(b"\n", end)
        if not self.unit.data[start:first].strip() and not self.unit.data[end:newline].strip():
            return start, newline + 1
        return first, end

    def _temporary(self) -> str:
        while True:
            self._count += 1
            name = f"{TEMPORARY}{self._count}"
            if name not in self._taken:
                return name

    def rendered(self, span: Span) -> str:
        inside = [edit for edit in self.edits if span[0] <= edit[0][0] and span[0] < edit[0][1] <= span[1]]
        out, at = [], span[0]
        for (first, end), text in sorted(inside, key=lambda edit: (edit[0][0], edit[0][1] > edit[0][0], -edit[0][1])):
            if first >= at:
                out.append(self.unit.text_of((at, first)))
                out += [piece if isinstance(piece, str) else self.rendered(piece) for piece in text]
                at = end
        out.append(self.unit.text_of((at, span[1])))
        return "".join(out)
