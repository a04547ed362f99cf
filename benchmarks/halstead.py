"""Compute Halstead's effort of C code, which measures how hard the code is to read and write."""

import math
import re
from collections import Counter

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*\#[ \t]*include[^\n]*"
    r"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*"
    r"|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S",
    re.DOTALL | re.MULTILINE,
)
_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "return short signed sizeof static struct switch typedef union unsigned void volatile while define ifdef ifndef "
    "endif bfGroup"
)
_CLOSING = frozenset(")]}")


def effort(text: str) -> float:
    """Return (n1 / 2) * (N2 / n2) * (N1 + N2) * log2(n1 + n2) for N1 operators, n1 of them different, and N2 operands,
    n2 of them different.

    Keywords and signs count as operators, and a pair of brackets counts as one operator. Names and constants count as
    operands. Section 6.6 of the dissertation on register interfaces applies Halstead's effort to drivers.
    """
    operators, operands = Counter[str](), Counter[str]()
    for token in _TOKEN.findall(text):
        if token.startswith(("//", "/*")) or token.lstrip().startswith("#") or token in _CLOSING:
            continue
        is_operand = (
            (token[0].isalnum() or token[0] in "_\"'.") and len(token.strip(".")) > 0 and token not in _KEYWORDS.split()
        )
        (operands if is_operand else operators)[token] += 1
    if not operands:
        return 0.0
    volume = (operators.total() + operands.total()) * math.log2(len(operators) + len(operands))
    return len(operators) / 2 * operands.total() / len(operands) * volume
