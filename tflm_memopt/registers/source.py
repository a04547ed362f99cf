"""Reads a driver in the language extension (6.3.3), and converts each function to events."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tflm_memopt.registers.bounds import check_bound
from tflm_memopt.registers.chains import Chains, bare
from tflm_memopt.registers.description import Description
from tflm_memopt.registers.driver import (
    NOTHING,
    AccessOp,
    Context,
    Driver,
    Event,
    FieldAccess,
    Function,
    Happening,
    Host,
    MadeOf,
    Span,
)
from tflm_memopt.registers.parse import PLAIN, Cursor, CursorKind, ParsedFile, notes

EXITS = (CursorKind.RETURN_STMT, CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)
JUMPS = (CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT, CursorKind.LABEL_STMT)
STEPS = ("++", "--")


def read(
    path: Path, text: str, description: Description, header: Path, header_text: str, folders: Sequence[Path] = ()
) -> tuple[ParsedFile, Driver]:
    """Return the parsed file and the driver in `path`. Raises RegisterError with file and line."""
    includes = re.search(rf'^\s*#\s*include\s*"[^"]*\b{re.escape(header.name)}"', text, re.MULTILINE)
    prelude = "" if includes else f'#include "{header.resolve()}"\n'
    unit = ParsedFile(path, text, prelude, {str(header.resolve()): header_text}, folders)
    kinds = CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD
    definitions = [c for c in unit.root.get_children() if unit.is_here(c) and c.kind in kinds and c.is_definition()]
    chains = Chains(unit, description)
    quiet = _quiet(definitions, chains)
    functions = tuple(_FunctionReader(unit, chains, quiet).function(cursor) for cursor in definitions)
    chains.note_pointers(definitions)
    words = tuple(((f, e), PLAIN[word]) for f, e, word in unit.tokens if word in PLAIN)
    return unit, Driver(functions, frozenset(chains.dynamic), frozenset(chains.indexed), words, _reach(functions))


def _quiet(definitions: list[Cursor], chains: Chains) -> frozenset[str]:
    """Return the functions that reach neither registers nor volatile variables, directly or through calls."""
    loud = set[str]()
    calls: dict[str, set[str]] = {}
    for function in definitions:
        called = calls[function.spelling] = set()
        for cursor in function.walk_preorder():
            if cursor.kind == CursorKind.CALL_EXPR:
                called.add(cursor.spelling)
            elif cursor.kind == CursorKind.ASM_STMT or chains.is_member(cursor) or _is_volatile(cursor):
                loud.add(function.spelling)
    quiet = set(calls) - loud
    while any(calls[name] - quiet for name in quiet):
        quiet = {name for name in quiet if not calls[name] - quiet}
    return frozenset(quiet)


def _is_volatile(cursor: Cursor) -> bool:
    return bool(cursor.kind.is_expression()) and bool(cursor.type.is_volatile_qualified())


def _reach(functions: tuple[Function, ...]) -> frozenset[tuple[str, str]]:
    by_name = {function.name: function for function in functions}
    names = {function.name for function in functions if function.is_interrupt}
    while more := {name for f in names for name in by_name[f].calls & by_name.keys()} - names:
        names |= more
    return frozenset(access.field.key for name in names for access in by_name[name].accesses)


class _FunctionReader:
    def __init__(self, unit: ParsedFile, chains: Chains, quiet: frozenset[str]) -> None:
        self.unit, self.chains, self.quiet = unit, chains, quiet
        self.context: Context = ()
        self.host = Host((0, 0), ())
        self.count = 0
        self.needs = NOTHING

    def function(self, cursor: Cursor) -> Function:
        before_name = self.unit.text_of((self.unit.span(cursor)[0], cursor.location.offset))
        handler = "interrupt" in before_name or any(word == "interrupt" for word, _ in notes(cursor))
        self.made = Function(cursor.spelling, is_interrupt=handler)
        for child in cursor.get_children():
            if child.kind == CursorKind.COMPOUND_STMT:
                self._block(child)
        return self.made

    def _block(self, cursor: Cursor) -> None:
        outer = self.host
        self.count += 1
        blocks = (*outer.blocks, self.count)
        for child in cursor.get_children():
            self.host = Host(self.unit.span(child), self.context, blocks)
            self._statement(child, in_block=True)
        self.host = outer

    def _statement(self, cursor: Cursor, *, in_block: bool = False) -> None:
        kind = cursor.kind
        if kind == CursorKind.COMPOUND_STMT:
            self._block(cursor)
        elif kind == CursorKind.IF_STMT:
            self._if(cursor)
        elif kind in (CursorKind.WHILE_STMT, CursorKind.DO_STMT, CursorKind.FOR_STMT):
            self._loop(cursor)
        elif kind == CursorKind.SWITCH_STMT:
            self._switch(cursor)
        elif kind == CursorKind.DECL_STMT:
            for child in cursor.get_children():
                if child.kind == CursorKind.VAR_DECL:
                    self._declared(child)
        elif kind in JUMPS:
            self.made.has_goto = True
            self._children(cursor)
        elif kind == CursorKind.ASM_STMT:
            self._event(Happening.BARRIER)
        elif kind in EXITS:
            self._children(cursor)
            self._event(Happening.EXIT)
        else:
            self._expression(cursor, is_statement=in_block)

    def _children(self, cursor: Cursor) -> None:
        for child in cursor.get_children():
            if child.kind.is_statement():
                self._statement(child)
            else:
                self._expression(child)

    def _if(self, cursor: Cursor) -> None:
        condition, *arms = cursor.get_children()
        needs = self._value(condition)
        for arm in arms:
            with self._branch(needs):
                self._statement(arm)

    def _switch(self, cursor: Cursor) -> None:
        condition, body = cursor.get_children()
        needs = self._value(condition)
        for child in body.get_children():
            while child.kind in (CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT):
                child = list(child.get_children())[-1]  # noqa: PLW2901
            with self._branch(needs):  # A jump to a label may skip everything before the label.
                self._statement(child)

    def _loop(self, cursor: Cursor) -> None:
        first, condition, last, body = _loop_parts(self.unit, cursor)
        if first is not None:
            self._statement(first)
        at = len(self.made.events)
        with self._branch(NOTHING):
            here = self.context[-1]
            self.made.loops.add(here)
            if cursor.kind == CursorKind.DO_STMT:
                self._statement(body)
            if condition is not None:
                self.made.conditions[here] = self._value(condition)
            if cursor.kind != CursorKind.DO_STMT:
                self._statement(body)
            if last is not None:
                self._expression(last)
        if any(event.access for event in self.made.events[at:]):
            check_bound(self.unit, cursor, condition, [part for part in (condition, last, body) if part is not None])

    def _declared(self, cursor: Cursor) -> None:
        for child in cursor.get_children():
            if child.kind.is_expression():
                self._set(cursor.spelling, self._value(child))

    def _value(self, cursor: Cursor) -> MadeOf:
        outer, self.needs = self.needs, NOTHING
        self._expression(cursor)
        found, self.needs = self.needs, outer | self.needs
        return found

    def _expression(self, cursor: Cursor, *, is_statement: bool = False) -> None:
        inner = bare(cursor)
        kind = inner.kind
        if kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            self._binary(inner, is_statement=is_statement)
        elif kind == CursorKind.UNARY_OPERATOR:
            self._unary(inner, is_statement=is_statement)
        elif kind == CursorKind.CONDITIONAL_OPERATOR:
            condition, *arms = inner.get_children()
            needs = self._value(condition)
            for arm in arms:
                with self._branch(needs):
                    self._expression(arm)
        elif self.chains.ends_in_field(inner):
            self._access(AccessOp.READ, inner, inner)
        elif kind == CursorKind.CALL_EXPR:
            self._call(inner)
        else:
            if self.chains.is_member(inner):
                self.chains.note_group(inner)
            if kind == CursorKind.DECL_REF_EXPR:
                self.needs |= {inner.spelling}
            for child in inner.get_children():
                if child.kind.is_expression():
                    self._expression(child)
            if _is_volatile(inner):
                self._event(Happening.BARRIER)

    def _binary(self, cursor: Cursor, *, is_statement: bool) -> None:
        left, right = cursor.get_children()
        operator = self.unit.token_from(self.unit.span(left)[1])
        if operator in ("&&", "||"):
            with self._branch(self._value(left)):
                self._expression(right)
        elif not operator.endswith("=") or operator in ("==", "!=", "<=", ">="):
            self._expression(left)
            self._expression(right)
        elif self.chains.ends_in_field(bare(left)):
            self._store(cursor, bare(left), operator, right, is_statement=is_statement)
        else:
            needs = self._value(right)
            self._assigned(left, needs)

    def _unary(self, cursor: Cursor, *, is_statement: bool) -> None:
        (child,) = cursor.get_children()
        operator = self.unit.token_from(self.unit.span(cursor)[0])
        if operator not in ("++", "--", "&", "*", "!", "-", "+", "~"):
            operator = self.unit.token_from(self.unit.span(child)[1])
        target = bare(child)
        if operator in STEPS:
            if self.chains.ends_in_field(target):
                self._store(cursor, target, operator, None, is_statement=is_statement)
            else:
                self._assigned(child, NOTHING)
        elif operator == "&" and self.chains.ends_in_field(target):
            what = f"the driver takes the address of a bit field: {self.unit.source(cursor)}"
            raise self.unit.line(cursor).error(what, "use a pointer to the group of the field")
        else:
            self._expression(child)
            if operator == "&" and target.kind == CursorKind.DECL_REF_EXPR:
                self._set(target.spelling, NOTHING)
            if _is_volatile(cursor):
                self._event(Happening.BARRIER)

    def _assigned(self, left: Cursor, needs: MadeOf) -> None:
        target = bare(left)
        if target.kind == CursorKind.DECL_REF_EXPR:
            self._set(target.spelling, needs)
            if _is_volatile(target):
                self._event(Happening.BARRIER)
        else:
            self._expression(left)

    def _call(self, cursor: Cursor) -> None:
        for child in cursor.get_children():
            self._expression(child)
        self.made.calls.add(cursor.spelling)
        if cursor.spelling not in self.quiet:
            self._event(Happening.BARRIER)

    def _store(self, cursor: Cursor, left: Cursor, operator: str, right: Cursor | None, *, is_statement: bool) -> None:
        if operator in STEPS and not is_statement:
            what = f"an expression changes a bit field with {operator}: {self.unit.source(cursor)}"
            raise self.unit.line(cursor).error(what, "write the change as a separate statement")
        if right is not None:
            self._expression(right)
        span = self.unit.span(cursor)
        if operator != "=":
            self._access(AccessOp.READ, left, cursor, operator=operator, span=span, right=right)
        self._access(AccessOp.WRITE, left, cursor, operator=operator, span=span, right=right, is_statement=is_statement)

    def _access(
        self, op: AccessOp, chain: Cursor, at: Cursor, *, operator: str = "", span: Span | None = None,
        right: Cursor | None = None, is_statement: bool = False,
    ) -> None:  # fmt: skip
        line = self.unit.line(at)
        if self.unit.in_macro(at):
            what = f"a macro contains a register access: {self.unit.source(at)}"
            raise line.error(what, "use a static inline function in place of the macro")
        found = self.chains.chain(chain)
        if op is AccessOp.WRITE or not operator:
            for index in self.chains.indices(chain):
                self._expression(index)
        allowed = found.field.is_writable if op is AccessOp.WRITE else found.field.is_readable
        if not allowed:
            what = "written" if op is AccessOp.WRITE else "read"
            raise line.error(
                f"field {found.field.name} of {found.field.group} is {found.field.access.value} and is {what} here",
                f"the field is declared at {found.field.line}",
            )
        order = len(self.made.events)
        value = self.unit.span(right) if right is not None else None
        access = FieldAccess(
            op, found, order, self.context, self.host, span or self.unit.span(chain), operator, value, is_statement
        )
        self._event(Happening.ACCESS, access)
        if op is AccessOp.READ:
            self.needs |= {order}

    def _event(self, what: Happening, access: FieldAccess | None = None, name: str = "") -> None:
        self.made.events.append(Event(what, self.context, self.host, access, name))

    def _set(self, name: str, needs: MadeOf) -> None:
        self.made.values[name] = self.made.values.get(name, NOTHING) | needs
        self._event(Happening.SET, name=name)

    @contextmanager
    def _branch(self, needs: MadeOf) -> Iterator[None]:
        outer = self.context
        self.count += 1
        self.context = (*outer, self.count)
        self.made.conditions[self.count] = needs
        yield
        self.context = outer


def _loop_parts(unit: ParsedFile, cursor: Cursor) -> tuple[Cursor | None, Cursor | None, Cursor | None, Cursor]:
    children = list(cursor.get_children())
    if cursor.kind == CursorKind.WHILE_STMT:
        return None, children[-2], None, children[-1]
    if cursor.kind == CursorKind.DO_STMT:
        return None, children[1], None, children[0]
    first, second = _semicolons(unit, cursor)
    *head, body = children
    part = dict.fromkeys(("first", "condition", "last"))
    for child in head:
        at = unit.span(child)[0]
        part["first" if at < first else "condition" if at < second else "last"] = child
    return part["first"], part["condition"], part["last"], body


def _semicolons(unit: ParsedFile, cursor: Cursor) -> list[int]:
    first, end = unit.span(cursor)
    depth, found = 0, []
    for at, _, spelling in unit.tokens:
        if first <= at < end:
            depth += (spelling in "([{") - (spelling in ")]}")
            if spelling == ";" and depth == 1:
                found.append(at)
    return found[:2]
