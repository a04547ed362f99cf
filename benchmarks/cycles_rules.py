"""Compute the cycles of Thumb code on Cortex-M0, M0+, M3 and M4 without wait states, from Arm's reference manuals.

The manuals are DDI 0432 (M0, table 3-1), DDI 0484 (M0+, table 3-1), DDI 0337 (M3, sections 3.3.1 and 3.3.2) and DDI
0439 (M4, sections 3.3.1 and 3.3.2). Two rules of M3 and M4 are not in the manuals, but in jnk0le's measurements
(github.com/jnk0le/random, commit 3dfc2ab, "pipeline cycle test"). A load waits for a preceding store, and a 32-bit load
instruction that lies in two words of code is not pipelined. The cycle model assumes that an instruction's cycles depend
only on the previous instruction.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import capstone
from capstone import arm

LOADS = frozenset((
    "ldr", "ldrb", "ldrh", "ldrsb", "ldrsh", "ldrt", "ldrbt", "ldrht", "ldrsbt", "ldrsht", "ldrex", "ldrexb", "ldrexh",
    "vldr",
))  # fmt: skip
STORES = frozenset(("str", "strb", "strh", "strt", "strbt", "strht", "strex", "strexb", "strexh", "vstr"))
DOUBLE = frozenset(("ldrd", "strd"))
MULTIPLE = frozenset((
    "ldm", "ldmdb", "pop", "push", "stm", "stmdb", "vldmia", "vldmdb", "vpop", "vpush", "vstmia", "vstmdb",
))  # fmt: skip
DIRECT = frozenset(("b", "bl", "cbz", "cbnz"))
TABLE_BRANCHES = frozenset(("tbb", "tbh"))


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    at: int
    size: int
    words: int = 0
    address: frozenset[int] = frozenset()
    indexed: bool = False
    writes: frozenset[int] = frozenset()
    to_pc: str = ""
    """Kind of branch ("direct", "link", "return", "register" or "load"), or "" for other instructions."""

    @property
    def is_load(self) -> bool:
        return self.name in LOADS

    @property
    def loads(self) -> bool:
        return self.is_load or self.name.startswith(("ldm", "ldrd", "pop", "vldm", "vpop"))

    @property
    def is_memory(self) -> bool:
        return self.words > 0

    @property
    def straddles(self) -> bool:
        return self.size == 4 and self.at % 4 != 0


def decode(at: int, code: bytes) -> tuple[Instruction, ...]:
    """If Capstone cannot decode an instruction, the next two bytes of code are skipped."""
    return tuple(_instruction(one) for one in _decoder().disasm(code, at))


@functools.cache
def _decoder() -> capstone.Cs:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    decoder.detail = True
    decoder.skipdata = True
    return decoder


def _instruction(one: capstone.CsInsn) -> Instruction:
    if one.id == 0:
        return Instruction("unknown", one.address, one.size)
    name = one.insn_name()
    memory = [op.mem for op in one.operands if op.type == arm.ARM_OP_MEM]
    registers = [op.reg for op in one.operands if op.type == arm.ARM_OP_REG]
    _, written = one.regs_access()
    address = {mem.base for mem in memory} | {mem.index for mem in memory}
    words, listed = 0, registers
    if name in LOADS or name in STORES or name in TABLE_BRANCHES:
        words = 1
    elif name in DOUBLE:
        words = 2
    elif name in MULTIPLE:
        stack = name.endswith(("pop", "push"))
        listed = registers if stack else registers[1:]
        words = len(listed) * (2 if name.startswith("v") else 1)
        address = {arm.ARM_REG_SP} if stack else {registers[0]}
    return Instruction(
        name, one.address, one.size, words, frozenset(address - {0}), any(mem.index for mem in memory),
        frozenset(written), _branch(name, registers, written),
    )  # fmt: skip


def _branch(name: str, registers: Sequence[int], written: Sequence[int]) -> str:
    if name in DIRECT:
        return "link" if name == "bl" else "direct"
    if name in ("bx", "blx"):
        return "return" if registers[0] == arm.ARM_REG_LR else "register"
    if name in TABLE_BRANCHES or (arm.ARM_REG_PC in (*written, *registers) and (name in LOADS or name in MULTIPLE)):
        return "load" if name in TABLE_BRANCHES or name.startswith(("ldr", "ldm", "pop")) else ""
    return "register" if registers[:1] == [arm.ARM_REG_PC] and name in ("mov", "add") else ""


@dataclass(frozen=True, slots=True)
class Pipeline:
    name: str
    refill: Mapping[str, int]
    """Maps each kind of branch (Instruction.to_pc) to its number of additional cycles."""
    load: int = 2
    store: int = 1
    store_indexed: int = 2
    """Number of cycles of a store whose address is the sum of two registers."""
    multiple: int = 1
    """Number of cycles that a load or store of several words takes in addition to one cycle per word."""
    paired: bool = True
    """Whether a load or store takes one cycle less if it directly follows a load. No cycle is saved if the first load
    loads the address that the second instruction uses.
    """
    address: int = 1
    """Number of cycles that a load or store waits if the previous instruction computed the address."""
    behind_store: int = 1
    """Number of cycles that a load waits after a store."""
    straddling: int = 1
    """Number of additional cycles of a branch to a 32-bit instruction whose address is not a multiple of 4."""
    folds: bool = True
    """Whether an IT instruction takes no cycle after a 16-bit instruction."""
    others: Mapping[str, int] = field(default_factory=dict)

    def cycles(self, one: Instruction, before: Instruction | None) -> int:
        """Return the cycles of the instruction `one` after `before`. A branch is assumed not to be taken."""
        taken = self._alone(one)
        if one.name == "it" and self.folds and before is not None and before.size == 2:
            return 0
        if before is None or not one.is_memory:
            return taken
        depends = bool(one.address & before.writes)
        if self.paired and before.is_load and one.words == 1 and not depends and one.name not in TABLE_BRANCHES:
            return taken if one.is_load and one.straddles else max(1, taken - 1)
        if one.loads and before.name in STORES:
            return taken + self.behind_store
        return taken + (self.address if depends and not before.is_memory and not before.to_pc else 0)

    def branch(self, one: Instruction, target: Instruction) -> int:
        wide = self.straddling if target.straddles else 0
        return self.refill.get(one.to_pc, self.refill["load"]) + wide

    def inside(self, block: Sequence[Instruction]) -> int:
        return sum(self.cycles(one, before) for before, one in itertools.pairwise(block))

    def entering(self, block: Sequence[Instruction], before: Sequence[Instruction]) -> int:
        if not before:
            return self._alone(block[0])
        last, first = before[-1], block[0]
        if last.at + last.size == first.at:
            return self.cycles(first, last)
        return self.branch(last, first) + self.cycles(first, last)

    def _alone(self, one: Instruction) -> int:
        if one.name in self.others:
            return self.others[one.name]
        if one.name in TABLE_BRANCHES:
            return self.load + 1
        if one.name in DOUBLE or one.name in MULTIPLE:
            return self.multiple + one.words
        if one.is_load:
            return self.load
        if one.name in STORES:
            return self.store_indexed if one.indexed else self.store
        return 1


_REFILL = {"direct": 2, "link": 2, "return": 2, "register": 2, "load": 3}
"""Number of cycles that the core takes to refill its pipeline (P in the manuals of M3 and M4). The manuals state 1 to 3
cycles for P. The cycle model uses 3 cycles for LDR PC and 2 cycles for all other branches, which fits measured programs
best (docs/cycles.md).
"""
_DIVISION = {"sdiv": 7, "udiv": 7}
"""Number of cycles of a division, which depends on the quotient's leading bits (2 to 12 cycles in the manuals)."""
M4 = Pipeline("m4", _REFILL, others={
    **_DIVISION, "vdiv": 14, "vsqrt": 14, "vmla": 3, "vmls": 3, "vfma": 3, "vfms": 3, "vnmla": 3, "vnmls": 3, "vstr": 2,
})  # fmt: skip
M3 = Pipeline("m3", _REFILL, others={
    **_DIVISION, "mla": 2, "mls": 2, "smull": 5, "umull": 5, "smlal": 7, "umlal": 7,
})  # fmt: skip
"""A multiplication with a product of 64 bits takes 3 to 5 cycles. A multiply-accumulate with a product of 64 bits takes
4 to 7 cycles. Products of small factors take the fewest cycles.
"""
_SMALL = {
    "store": 2,
    "store_indexed": 2,
    "paired": False,
    "address": 0,
    "behind_store": 0,
    "straddling": 0,
    "folds": False,
}
M0 = Pipeline("m0", {"direct": 2, "link": 3, "return": 2, "register": 2, "load": 3}, **_SMALL)  # type: ignore[arg-type]
"""MULS takes 1 cycle or 32, depending on the chip, and the rules assume 1."""
M0_PLUS = Pipeline("m0plus", {"direct": 1, "link": 2, "return": 1, "register": 1, "load": 2}, **_SMALL)  # type: ignore[arg-type]
PIPELINES = {one.name: one for one in (M0, M0_PLUS, M3, M4)}
