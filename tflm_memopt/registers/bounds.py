"""Checks that the loops of a driver end, for example loops that wait for hardware."""

from collections.abc import Iterable, Iterator

from tflm_memopt.registers.chains import bare
from tflm_memopt.registers.parse import Cursor, CursorKind, ParsedFile

UP, DOWN = 1, -1
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_DIRECTIONS = {"<": (UP,), "<=": (UP,), ">": (DOWN,), ">=": (DOWN,), "!=": (UP, DOWN)}


def check_bound(unit: ParsedFile, loop: Cursor, condition: Cursor | None, repeated: Iterable[Cursor]) -> None:
    """Raise RegisterError if the condition of a loop does not limit how often the code `repeated` runs."""
    if condition is not None:
        if bare(condition).kind == CursorKind.INTEGER_LITERAL and unit.source(bare(condition)) == "0":
            return
        changes = _changes(unit, repeated)
        if any(_ends_by_counting(unit, part, changes) for part in _conjuncts(unit, condition)):
            return
    raise unit.line(loop).error(
        "a loop that reads or writes registers has no bound",
        "add a counter: for (polls = 0; polls < LIMIT && !ready; ++polls)",
    )


def _conjuncts(unit: ParsedFile, condition: Cursor) -> Iterator[Cursor]:
    inner = bare(condition)
    if inner.kind == CursorKind.BINARY_OPERATOR:
        left, right = inner.get_children()
        if unit.token_from(unit.span(left)[1]) == "&&":
            yield from _conjuncts(unit, left)
            yield from _conjuncts(unit, right)
            return
    yield inner


def _changes(unit: ParsedFile, repeated: Iterable[Cursor]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for cursor in (inner for part in repeated for inner in part.walk_preorder()):
        children = list(cursor.get_children())
        if cursor.kind in (
            CursorKind.UNARY_OPERATOR,
            CursorKind.BINARY_OPERATOR,
            CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,
        ):
            target = bare(children[0])
            if target.kind == CursorKind.DECL_REF_EXPR and (step := _step(unit, cursor, children)) is not None:
                found.setdefault(target.spelling, set()).add(step)
    return found


def _step(unit: ParsedFile, cursor: Cursor, children: list[Cursor]) -> int | None:
    if cursor.kind == CursorKind.UNARY_OPERATOR:
        first, operator = unit.token_from(unit.span(cursor)[0]), unit.token_from(unit.span(children[0])[1])
        word = first if first in ("++", "--", "&") else operator
        return {"++": UP, "--": DOWN, "&": 0}.get(word) if word in ("++", "--") or first == "&" else None
    operator = unit.token_from(unit.span(children[0])[1])
    if cursor.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR:
        is_number = bare(children[1]).kind == CursorKind.INTEGER_LITERAL
        return {"+=": UP, "-=": DOWN}.get(operator, 0) if is_number else 0
    return 0 if operator == "=" else None


def _ends_by_counting(unit: ParsedFile, part: Cursor, changes: dict[str, set[int]]) -> bool:
    children = list(part.get_children())
    if part.kind == CursorKind.DECL_REF_EXPR:
        return _is_counted(part, (DOWN,), changes)
    if part.kind == CursorKind.UNARY_OPERATOR:
        return _step(unit, part, children) == DOWN and _is_counted(bare(children[0]), (DOWN,), changes)
    if part.kind != CursorKind.BINARY_OPERATOR:
        return False
    left, right = (bare(child) for child in children)
    operator = unit.token_from(unit.span(children[0])[1])
    if operator not in _DIRECTIONS:
        return False
    for variable, other, word in ((left, right, operator), (right, left, _FLIPPED[operator])):
        counter = bare(next(iter(variable.get_children()))) if variable.kind == CursorKind.UNARY_OPERATOR else variable
        if _is_counted(counter, _DIRECTIONS[word], changes) and _is_still(other, changes):
            return True
    return False


def _is_counted(cursor: Cursor, directions: tuple[int, ...], changes: dict[str, set[int]]) -> bool:
    is_variable = cursor.kind == CursorKind.DECL_REF_EXPR and not cursor.type.is_volatile_qualified()
    return is_variable and changes.get(cursor.spelling, set()) in ({direction} for direction in directions)


def _is_still(cursor: Cursor, changes: dict[str, set[int]]) -> bool:
    for inner in (cursor, *cursor.walk_preorder()):
        if inner.kind in (CursorKind.MEMBER_REF_EXPR, CursorKind.CALL_EXPR, CursorKind.ARRAY_SUBSCRIPT_EXPR):
            return False
        if inner.kind == CursorKind.DECL_REF_EXPR and (inner.spelling in changes or inner.type.is_volatile_qualified()):
            return False
    return True
