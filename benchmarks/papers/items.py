"""List the figures of docs/papers.md, with the kind of each figure and the function that computes it again.

- A product figure comes from commands or functions of the package, and the result can run under TFLM.
- A benchmark figure comes from a script that uses parts of the package.
- A predicted figure follows from formulas or plans, and nothing was executed.
"""

import posixpath
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from int8_models import Builder
from papers.fused_tiling import int8_networks, split_networks
from papers.joint_memory import joint
from papers.vmcu import vmcu
from proved import proved
from tables import markdown

import tflm_memopt

TITLES = ("paper", "in the paper", "kind", "result here", "script")
SMALL = 1_000_000
"""Maximum size in bytes of models that are planned within seconds."""
ON_DEVICES = {
    "kws": "mlperf_tiny_kws_dscnn_int8", "vww": "mlperf_tiny_vww_96_int8", "ic": "mlperf_tiny_ic_resnet8_int8",
}  # fmt: skip
THESIS = 24_576 // 4, 16_384 // 4
"""Arena bytes that chapter 4 of Stahl's thesis implies, without and with tiled channels."""


@dataclass(frozen=True, slots=True)
class Item:
    paper: str
    what: str
    kind: str
    """Source of the figure: "product", "benchmark" or "predicted"."""
    script: str
    figure: Callable[[Path], str]
    """Function that takes the folder of public models and returns the table's figure as text. The function raises
    AssertionError if a claim of docs/papers.md does not hold.
    """

    def row(self, models: Path) -> list[str]:
        script = posixpath.normpath(f"benchmarks/papers/{self.script}")
        return [self.paper, self.what, self.kind, self.figure(models), f"`{script}`"]


def require(holds: bool, claim: str) -> None:
    if not holds:
        raise AssertionError(claim)


def bottlenecks(_: Path) -> str:
    found = vmcu.bottlenecks()
    require(all(b.once <= b.tinyengine for b in found), "a bottleneck needs more than TinyEngine's formula")
    require(all(b.again < b.vmcu + vmcu.ALIGNMENT for b in found), "a bottleneck needs more than vMCU's formula")
    best = max(found, key=lambda b: 1 - b.once / b.tinyengine)
    most = f"{1 - best.once / best.tinyengine:.1%} ({best.name}, {best.tinyengine:,} -> {best.once:,} B)"
    less = 1 - min(b.again / b.vmcu for b in found)
    return (
        f"{len(found)} bottlenecks; nothing computed twice: largest gain {most}; "
        f"with recompute: 0 to {less:.0%} below vMCU's formula"
    )


def wrapping(models: Path) -> str:
    public = [path.read_bytes() for path in sorted(models.glob("*.tflite"))]
    small = [data for data in public if len(data) < SMALL]
    modules = [vmcu.model(m) for m in vmcu.TABLE_2]
    once = max(above(data, 1.0)[0] for data in (*small, *modules))
    require(once < 2 * vmcu.ALIGNMENT, "a layout is more than two alignments above the live bytes")
    more, head = max(above(data, vmcu.ANY) for data in modules)
    return (
        f"a pool that wraps could save at most {once} B in {len(small) + len(modules)} networks without recompute, "
        f"at most {more} B ({more / head:.1%}) with it"
    )


def above(data: bytes, most: float) -> tuple[int, int]:
    memory = tflm_memopt.optimize(data, max_macs=most).memory
    return memory.head - memory.bound, memory.head


def running_example(_: Path) -> str:
    net = Builder()
    x = net.same(net.same(net.input((1, 32, 8, 1)), 32, (6, 2), 2), 32, 3, depthwise=True)
    x = net.pool(net.same(x, 64), kernel=(16, 4), stride=(16, 4))
    report = proved(net.model(net.dense(x, 6)), runs=5).report
    untiled, tiled_bytes = THESIS
    require(report.arena.head <= tiled_bytes, "the tiled example needs more than in the thesis")
    heads = f"{report.original_arena.head:,} -> {report.arena.head:,}"
    return f"{heads} B of activations in int8 (thesis {untiled:,} -> {tiled_bytes:,})"


def in_int8(name: str) -> Callable[[Path], str]:
    def figure(_: Path) -> str:
        found, thesis = int8_networks.row(name), int8_networks.NETWORKS[name]
        share = found["ten"] / found["TFLM"]
        require(share <= thesis.each / thesis.single, "a device has a larger part of the memory than in the thesis")
        sizes = {key: f"{nbytes / 1e6:.2f} MB" for key, nbytes in found.items()}
        return (
            f"{sizes['TFLM']} under TFLM, {sizes['one']} rewritten, at most "
            f"{sizes['ten']} on ten devices ({share:.1%} of TFLM's; thesis {thesis.each / thesis.single:.1%})"
        )

    return figure


def public_models_on_devices(models: Path) -> str:
    said = []
    for name, stem in ON_DEVICES.items():
        report = tflm_memopt.optimize_devices(models / f"{stem}.tflite", 2).report
        alone = report.alone.arena.total
        require(report.ram <= alone, f"{name} needs more RAM than one device alone")
        said.append(
            f"{name} {alone:,} -> {report.ram:,} B of RAM and {report.alone.flash:,} -> {report.flash:,} B of flash"
        )
    return "one device -> the largest of two: " + "; ".join(said)


def stage_split(_: Path) -> str:
    found = split_networks.in_two()
    require(found["bit_exact"] and found["as_predicted"], "the devices' outputs differ")
    sent = max(found["sent"])
    require(found["tensor"] <= split_networks.ESP32_SENT, "the tensor is larger than published")
    arenas = " and ".join(f"{n:,}" for n in found["arena"])
    return (
        f"MobileNetV2 0.35: a tensor of {found['tensor']:,} B (published 5.66 kB), {sent:,} B with heads; "
        f"{arenas} B of RAM"
    )


def kernel_split(_: Path) -> str:
    found = split_networks.by_kernels()
    require(found["bit_exact"] and found["as_predicted"], "the devices' outputs differ")
    reads, ram = max(found["received"]), max(found["arena"])
    require(reads <= max(split_networks.TEENSY_READS), "a device reads more than published")
    require(ram <= split_networks.TEENSY_MAPS, "a device needs more RAM than published")
    return (
        f"MobileNetV2 1.0 on three devices, each layer by channels: a device reads at most {reads:,} B "
        f"(published {max(split_networks.TEENSY_READS):,}) and needs at most {ram:,} B of RAM (published maps "
        f"{split_networks.TEENSY_MAPS:,})"
    )


def application(number: int) -> Callable[[Path], str]:
    def figure(_: Path) -> str:
        (head, ours), paper = joint.application(number), joint.APPLICATIONS[number].megabytes_in_thesis
        require(ours <= paper, f"application {number} needs more than in the paper")
        return f"{ours:.2f} MB with float32 weights (paper {paper:g}); int8 activations {head:,} B"

    return figure


def on_two_cores(models: Path) -> str:
    camera = tflm_memopt.AppModel(models / f"{ON_DEVICES['vww']}.tflite", fps=0.5, pipeline=[6])
    rates = []
    for count in (1, 2):
        app = tflm_memopt.App({"camera": camera}, model_cores=count, options={"board": "pico", "effort": "low"})
        busy = tflm_memopt.explore(app).points[0].busy
        require(busy is not None and len(busy) == count, "the load of a core is missing")
        rates.append(0.5 / max(busy or (1.0,)))
    gain = rates[1] / rates[0]
    require(gain > 1.5, "a second core gains less than half of the rate")
    return f"vww in two partitions on a Pico: two cores keep {gain:.1f} times the rate of one"


VMCU, TILING, JOINT = "vMCU", "fused tiling", "joint memory"
ITEMS = (
    Item(VMCU, "Figures 9 and 10, Table 2", "product", "vmcu/vmcu.py", bottlenecks),
    Item(VMCU, "sections 4 and 5, circular pool", "predicted", "items.py", wrapping),
    Item(TILING, "running example (Figures 4.4 to 4.13)", "product", "items.py", running_example),
    *(
        Item(TILING, f"Table 5.1, {name} in int8", "predicted", "fused_tiling/int8_networks.py", in_int8(name))
        for name in int8_networks.NETWORKS
    ),
    Item(TILING, "chapter 5 on MLPerf Tiny", "product", "items.py", public_models_on_devices),
    Item("arXiv 2507.16594", "MobileNetV2 in two", "product", "fused_tiling/split_networks.py", stage_split),
    Item("arXiv 2605.09357", "MobileNetV2 by kernels", "benchmark", "fused_tiling/split_networks.py", kernel_split),
    *(
        Item(JOINT, f"Table 6.6, application {n}", "product", "joint_memory/joint.py", application(n))
        for n in joint.APPLICATIONS
    ),
    Item(JOINT, "partitions in parallel (section 6.6)", "product", "items.py", on_two_cores),
)


def table(models: Path) -> str:
    return markdown(TITLES, (item.row(models) for item in ITEMS), left=len(TITLES))
