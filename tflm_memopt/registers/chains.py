"""Reads the expressions of clang's tree that lead to bit fields."""

from collections.abc import Iterable

from tflm_memopt.registers.description import Description, Field, SubGroup
from tflm_memopt.registers.driver import ChainLink, FieldChain
from tflm_memopt.registers.parse import Cursor, CursorKind, ParsedFile


def bare(cursor: Cursor) -> Cursor:
    while cursor.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR):
        children = [child for child in cursor.get_children() if child.kind.is_expression()]
        if len(children) != 1:
            return cursor
        cursor = children[0]
    return cursor


class Chains:
    def __init__(self, unit: ParsedFile, description: Description) -> None:
        self.unit, self.description = unit, description
        self.dynamic: set[str] = set()
        self.indexed: set[tuple[str, str]] = set()
        self._devices = {device.name for device in description.devices}

    def is_member(self, cursor: Cursor) -> bool:
        if cursor.kind != CursorKind.MEMBER_REF_EXPR or cursor.referenced is None:
            return False
        return cursor.referenced.semantic_parent.spelling in self.description.groups

    def _member(self, cursor: Cursor) -> Field | SubGroup:
        return self.description.groups[cursor.referenced.semantic_parent.spelling].member(cursor.spelling)

    def ends_in_field(self, cursor: Cursor) -> bool:
        if cursor.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            cursor = bare(next(iter(cursor.get_children())))
            return self.is_member(cursor) and isinstance(self._member(cursor), Field)
        if not self.is_member(cursor):
            return False
        member = self._member(cursor)
        return isinstance(member, Field) and member.count is None

    def indices(self, cursor: Cursor) -> list[Cursor]:
        found = []
        while True:
            children = list(cursor.get_children())
            if cursor.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                found.append(children[1])
            elif not self.is_member(cursor):
                return found
            cursor = bare(children[0])

    def chain(self, cursor: Cursor) -> FieldChain:
        """Return the members in the path from an expression to a field. Raises RegisterError for an invalid index."""
        steps: list[ChainLink] = []
        names: set[str] = set()
        index: Cursor | None = None
        span = self.unit.span(cursor)
        while True:
            children = list(cursor.get_children())
            if cursor.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                span, index = self.unit.span(cursor), children[1]
                cursor = bare(children[0])
                continue
            if not self.is_member(cursor):
                break
            steps.append(self._step(cursor, span if index is not None else self.unit.span(cursor), index))
            names |= _variables(index) if index is not None else set()
            base, index = children[0], None
            is_pointer = base.type.get_canonical().kind.name == "POINTER"
            cursor = bare(base)
            if is_pointer:
                break
        steps.reverse()
        return self._rooted(cursor, tuple(steps), names | _variables(cursor))

    def _rooted(self, root: Cursor, steps: tuple[ChainLink, ...], names: set[str]) -> FieldChain:
        kind = root.type.get_canonical()
        is_pointer = kind.kind.name == "POINTER"
        group = steps[0].member.group if isinstance(steps[0].member, Field) else ""
        if not group:
            owner = kind.get_pointee() if is_pointer else kind
            group = owner.get_declaration().spelling
        if root.kind != CursorKind.DECL_REF_EXPR or root.spelling not in self._devices:
            self.dynamic.add(group)
        return FieldChain(self.unit.span(root), group, is_pointer, steps, frozenset(names - self._devices))

    def _step(self, cursor: Cursor, span: tuple[int, int], index: Cursor | None) -> ChainLink:
        member = self._member(cursor)
        if index is None:
            return ChainLink(member, span)
        number = _constant(index)
        if number is None:
            self.indexed.add((cursor.referenced.semantic_parent.spelling, member.name))
        elif number >= (member.count or 1):
            raise self.unit.line(cursor).error(
                f"{member.name} has {member.count} elements, so index {number} is invalid",
                f"use an index from 0 to {(member.count or 1) - 1}",
            )
        return ChainLink(member, span, number, self.unit.span(index))

    def note_group(self, cursor: Cursor) -> None:
        member = self._member(cursor)
        if isinstance(member, SubGroup):
            self.dynamic.add(member.group)
            if member.count is not None:
                self.indexed.add((cursor.referenced.semantic_parent.spelling, member.name))

    def note_pointers(self, definitions: Iterable[Cursor]) -> None:
        for function in definitions:
            for cursor in function.walk_preorder():
                if cursor.kind in (CursorKind.PARM_DECL, CursorKind.VAR_DECL):
                    name = cursor.type.get_canonical().get_pointee().get_declaration().spelling
                    if name in self.description.groups:
                        self.dynamic.add(name)


def _constant(index: Cursor) -> int | None:
    inner = bare(index)
    if inner.kind == CursorKind.INTEGER_LITERAL:
        text = "".join(token.spelling for token in inner.get_tokens()).rstrip("uUlL")
        return int(text, 0) if text.isalnum() and text[0].isdigit() else None
    if inner.kind == CursorKind.DECL_REF_EXPR and inner.referenced.kind == CursorKind.ENUM_CONSTANT_DECL:
        return int(inner.referenced.enum_value)
    return None


def _variables(cursor: Cursor) -> set[str]:
    names = set()
    for inner in (cursor, *cursor.walk_preorder()):
        if inner.kind == CursorKind.DECL_REF_EXPR:
            names.add(inner.spelling)
        elif inner.kind in (
            CursorKind.CALL_EXPR,
            CursorKind.MEMBER_REF_EXPR,
            CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,
        ) or (inner.kind == CursorKind.UNARY_OPERATOR):
            names.add("")
    return names
