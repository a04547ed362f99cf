"""List the figures of docs/papers.md, with the kind of each figure and the function that computes it again.

- A product figure comes from commands or functions of the package, and the result can run under TFLM.
- A benchmark figure comes from a script that uses parts of the package.
- A predicted figure follows from formulas or plans, and nothing was executed.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
import driver_registers
import int8_models
from papers.fused_tiling import devices, examples, int8_networks, split_networks, tiling_tables, weight_partition
from papers.joint_memory import joint
from papers.msf_cnn import frontier
from papers.msf_cnn import nets as layers
from papers.vmcu import inverted_bottleneck, vmcu
from registers import test_paper as register_figures

import tflm_memopt

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/shapes/shapes_int8.tflite"
PARTS: dict[str, Any] = {"ops": "builtin", "kernels": "reference", "allow_ops": ("PAD", "SLICE", "CONCATENATION")}
SMALL = 1_000_000
"""Models of at most this many bytes are planned within seconds."""
ON_DEVICES = {
    "kws": "mlperf_tiny_kws_dscnn_int8", "vww": "mlperf_tiny_vww_96_int8", "ic": "mlperf_tiny_ic_resnet8_int8",
}  # fmt: skip
MOST_WIDE = 16_400
Folders = dict[str, Path]
"""The folder `models` has public models, and the folder `nets` has layer lists of msf-CNN's networks."""


@dataclass(frozen=True, slots=True)
class Item:
    """A row of the table in docs/papers.md."""

    paper: str
    what: str
    kind: str
    """Kind of the figure: "product", "benchmark" or "predicted"."""
    script: str
    figure: Callable[[Folders], str]
    """Function that returns the figure as text, and raises AssertionError if a claim of docs/papers.md does not hold.
    """
    needs: str = ""


def require(holds: bool, claim: str) -> None:
    if not holds:
        raise AssertionError(claim)


def segments(_: Folders) -> str:
    found = vmcu.figure_1c()
    return f"{found['separate']} segments apart, {found['formula']} by the formula, {found['ours']} here"


def bottlenecks(_: Folders) -> str:
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


def headroom(_: Folders) -> str:
    found = vmcu.headroom()
    image, channels = max(h.image for h in found), max(h.channels for h in found)
    by_formula = max(h.image_formula for h in found), max(h.channels_formula for h in found)
    less = [h.name for h in found if h.image < h.image_formula or h.channels < h.channels_formula]
    require(not less, f"{', '.join(less)} grow less than by vMCU's formula")
    each = zip((image, channels), by_formula, vmcu.PUBLISHED_GROWTH.values(), strict=True)
    said = [f"{ours:.2f} times (vMCU's formula {theirs:.2f}, paper {most:g})" for ours, theirs, (_, most) in each]
    return f"height and width up to {said[0]}, channels up to {said[1]}"


def by_pixels(_: Folders) -> str:
    modules = [m for m in vmcu.TABLE_2 if not m.stem]
    wrong = [m.name for m in modules if not inverted_bottleneck.equals_whole_tensors(m)]
    require(not wrong, f"outputs of {', '.join(wrong)} differ")
    return f"the description's C computes {len(modules)} bottlenecks in exactly the bytes of vMCU's formula"


def wrapping(folders: Folders) -> str:
    models = [path.read_bytes() for path in sorted(folders["models"].glob("*.tflite"))]
    small = [data for data in models if len(data) < SMALL]
    modules = [vmcu.model(m) for m in vmcu.TABLE_2]
    once = max(above(data, 1.0)[0] for data in (*small, *modules))
    require(once < vmcu.ALIGNMENT, "a layout is more than its alignment above the live bytes")
    more, head = max(above(data, vmcu.ANY) for data in modules)
    return (
        f"a pool that wraps could save at most {once} B in {len(small) + len(modules)} networks without recompute, "
        f"at most {more} B ({more / head:.1%}) with it"
    )


def above(data: bytes, most: float) -> tuple[int, int]:
    memory = tflm_memopt.optimize(data, max_macs=most).memory
    return memory.head - memory.bound, memory.head


def msf_table(folders: Folders) -> str:
    off, count = 0.0, 0
    nets = layers.read(folders["nets"])
    for name, published in frontier.PUBLISHED.items():
        found = frontier.table1(nets[name])
        for limit, cell in published.items():
            ours = found.get(limit)
            if cell and ours:
                off, count = max(off, abs(ours[0] / 1000 / cell[0] - 1)), count + 1
    require(off < 0.02, "msf-CNN's formulas give other figures than the paper")
    return f"its own formulas give {count} cells to {off:.1%}"


def measured_ram(limit: float) -> Callable[[Folders], str]:
    """Compare arenas under TFLM with published peaks, which do not count input, output and runtime."""

    def figure(folders: Folders) -> str:
        nets, said = layers.read(folders["nets"]), []
        for name, published in frontier.MEASURED.items():
            model = int8_models.from_layers(nets[f"{name}_residual_tail"])
            report = tflm_memopt.optimize(model, input="external", max_macs=min(limit, 3.0), effort=0.3).report
            require(report.arena.total <= 1000 * published[limit], f"{name} needs more than published")
            said.append(f"{name} {report.arena.total:,} B (published {published[limit]:g} kB)")
        return "whole arenas with an external input: " + ", ".join(said)

    return figure


def running_example(_: Folders) -> str:
    untiled, tiled_bytes = examples.THESIS
    report = examples.rewritten("running example", examples.running_example())[0]
    require(report.arena.head <= tiled_bytes, "the tiled example needs more than in the thesis")
    heads = f"{report.original_arena.head:,} -> {report.arena.head:,}"
    return f"{heads} B of activations in int8 (thesis {untiled:,} -> {tiled_bytes:,})"


def swapped(height: int, width: int) -> tuple[int, int]:
    net = int8_models.Builder()
    x = net.same(net.input((1, height, width, 3)), 32, 3)
    report = tflm_memopt.optimize(net.model(net.same(x, 16, 3, 2)), **PARTS, max_macs=1.5).report
    return report.original_arena.total, report.arena.total


def wide_as_tall(_: Folders) -> str:
    (before, tall), (wide_before, wide) = swapped(128, 4), swapped(4, 128)
    require(wide <= 1.02 * tall, "columns gain less than rows")
    require(wide <= MOST_WIDE, "the wide network needs too much")
    return f"128 x 4 pixels {before:,} -> {tall:,} B, 4 x 128 pixels {wide_before:,} -> {wide:,} B"


def tiled(folders: Folders) -> str:
    nets = {"AWW": tiling_tables.keywords(folders["models"]), "RAD": tiling_tables.radar()}
    said = []
    for name, data in nets.items():
        before = tflm_memopt.inspect(data).arena.total
        after = tflm_memopt.optimize(data, **PARTS, max_macs=tiling_tables.MOST).report.arena.total
        best, ours = max(tiling_tables.PUBLISHED[name]), 100 * (1 - after / before)
        require(ours >= best, f"{name} saves less than in the thesis")
        said.append(f"{tiling_tables.titled(name)} {ours:.1f} % (thesis {best:.1f} %)")
    return ", ".join(said)


def four_layers(_: Folders) -> str:
    found = devices.example()
    return (
        f"messages of four layers on two devices: {found['FDTO']} with fan-out, {found['FDTI']} with fan-in, "
        f"{found['least']} at best"
    )


def best_partition(_: Folders) -> str:
    rows = weight_partition.rows()
    require(all(row.bit_exact for row in rows), "an output byte differs")
    require(all(row.planned == row.executed for row in rows), "the devices do not send what was planned")
    return f"processes exchange {', '.join(str(row.executed) for row in rows)} bytes"


def table_5_1(_: Folders) -> str:
    each = ((name, *devices.table(name)) for name in devices.NETWORKS)
    return "one device and ten: " + ", ".join(f"{name} {one:,.1f} -> {ten:,.1f} MB" for name, one, ten in each)


def in_int8(name: str, *, execute: bool = False) -> Callable[[Folders], str]:
    def figure(_: Folders) -> str:
        found, thesis = int8_networks.row(name, execute=execute), devices.NETWORKS[name]
        require(found.get("bit_exact", True) and found.get("as_predicted", True), "the devices' outputs differ")
        share = found["ten"] / found["TFLM"]
        require(share <= thesis.full / thesis.single, "a device has a larger part of the memory than in the thesis")
        sizes = {key: f"{found[key] / 1e6:.2f} MB" for key in ("TFLM", "one", "ten")}
        return (
            f"{sizes['TFLM']} under TFLM, {sizes['one']} rewritten, at most "
            f"{sizes['ten']} on ten devices ({share:.1%} of TFLM's; thesis {thesis.full / thesis.single:.1%})"
        )

    return figure


def public_models_on_devices(folders: Folders) -> str:
    said = []
    for name, stem in ON_DEVICES.items():
        report = tflm_memopt.optimize_devices(folders["models"] / f"{stem}.tflite", 2).report
        alone = report.alone.arena.total
        require(report.ram <= alone, f"{name} needs more RAM than one device alone")
        said.append(
            f"{name} {alone:,} -> {report.ram:,} B of RAM and {report.alone.flash:,} -> {report.flash:,} B of flash"
        )
    return "one device -> the largest of two: " + "; ".join(said)


def stage_split(_: Folders) -> str:
    found = split_networks.in_two()
    require(found["bit_exact"] and found["as_predicted"], "the devices' outputs differ")
    sent = max(found["sent"])
    require(found["tensor"] <= split_networks.ESP32_SENT, "the tensor is larger than published")
    arenas = " and ".join(f"{n:,}" for n in found["arena"])
    return (
        f"MobileNetV2 0.35: a tensor of {found['tensor']:,} B (published 5.66 kB), {sent:,} B with heads; "
        f"{arenas} B of RAM"
    )


def kernel_split(_: Folders) -> str:
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


def example_on_devices(_: Folders) -> str:
    report = tflm_memopt.optimize_devices(EXAMPLE, 2, effort="low").report
    require(report.ram <= report.alone.arena.total, "a device needs more RAM than one device alone")
    require(report.flash < report.alone.flash, "the weights are not shared")
    return (
        f"the example: {report.alone.arena.total:,} B of RAM and {report.alone.flash:,} B of flash on one device, "
        f"at most {report.ram:,} B and {report.flash:,} B on two"
    )


def joint_example(_: Folders) -> str:
    found = joint.example()
    return (
        f"{found['reused']:,} tokens by Algorithm 8, {found['by parts']:,} by parts; the best of "
        f"{found['chromosomes']} chromosomes {found['search']:,}, by offsets {found['its offsets']:,}"
    )


def application(number: int) -> Callable[[Folders], str]:
    def figure(_: Folders) -> str:
        (head, ours), paper = joint.application(number), joint.APPLICATIONS[number].paper
        require(ours <= paper, f"application {number} needs more than in the paper")
        return f"{ours:.2f} MB with float32 weights (paper {paper:g}); int8 activations {head:,} B"

    return figure


def on_two_cores(folders: Folders) -> str:
    camera = tflm_memopt.AppModel(folders["models"] / f"{ON_DEVICES['vww']}.tflite", fps=0.5, pipeline=[6])
    rates = []
    for count in (1, 2):
        app = tflm_memopt.App({"camera": camera}, model_cores=count, options={"board": "pico", "effort": "low"})
        busy = tflm_memopt.explore(app).points[0].busy
        require(busy is not None and len(busy) == count, "the load of a core is missing")
        rates.append(0.5 / max(busy or (1.0,)))
    gain = rates[1] / rates[0]
    require(gain > 1.5, "a second core gains less than half of the rate")
    return f"vww in two partitions on a Pico: two cores keep {gain:.1f} times the rate of one"


def register_conflicts(_: Folders) -> str:
    for variant in register_figures.CHECKS:
        register_figures.test_figure_6_5(variant)
    register_figures.test_the_code_of_6_5()
    for row in register_figures.TABLE_6_1:
        register_figures.test_table_6_1(row)
    return f"the two graphs, the printed code, and {len(register_figures.TABLE_6_1)} rows of accesses, shifts and masks"


def own_drivers(_: Folders) -> str:
    titles, rows = driver_registers.costs()
    placed = titles.index("placed")
    each = ", ".join(f"{row[0]} {row[1]} -> {row[placed]}" for row in rows)
    return f"bytes of code, plain -> with placed fields: {each}; dissertation: GPIO -38 %, SPI -12 %"


VMCU, MSF, TILING, JOINT = "vMCU", "msf-CNN", "fused tiling", "joint memory"
REGISTERS = "register interfaces"
ITEMS = (
    Item(VMCU, "Figure 1 (c)", "benchmark", "vmcu/vmcu.py", segments),
    Item(VMCU, "Figures 9 and 10, Table 2", "product", "vmcu/vmcu.py", bottlenecks),
    Item(VMCU, "Figures 11 and 12, largest gain", "product", "vmcu/vmcu.py", headroom),
    Item(VMCU, "Figure 6, as a description", "benchmark", "vmcu/inverted_bottleneck.py", by_pixels),
    Item(VMCU, "sections 4 and 5, circular pool", "predicted", "items.py", wrapping, "models"),
    Item(MSF, "Table 1", "predicted", "msf_cnn/frontier.py", msf_table, "nets"),
    Item(MSF, "Table 2, least RAM", "product", "items.py", measured_ram(float("inf")), "nets"),
    Item(MSF, "result.json of its repository, F ≤ 1.1", "product", "items.py", measured_ram(1.1), "nets"),
    Item(TILING, "running example (Figures 4.4 to 4.13)", "product", "fused_tiling/examples.py", running_example),
    Item(TILING, "path discovery, axes swapped", "product", "items.py", wide_as_tall),
    Item(TILING, "Table 4.1, AWW and RAD", "product", "fused_tiling/tiling_tables.py", tiled, "models"),
    Item(TILING, "Figures 5.2 to 5.7", "predicted", "fused_tiling/devices.py", four_layers),
    Item(TILING, "Figures 5.2 to 5.7, executed", "benchmark", "fused_tiling/weight_partition.py", best_partition),
    Item(TILING, "Table 5.1", "predicted", "fused_tiling/devices.py", table_5_1),
    *(
        Item(TILING, f"Table 5.1, {name} in int8", "predicted", "fused_tiling/int8_networks.py", in_int8(name))
        for name in int8_networks.SIDES
    ),
    *(
        Item(
            TILING,
            f"Table 5.1, {name} in int8 at {side} x {side}, executed",
            "benchmark",
            "fused_tiling/int8_networks.py",
            in_int8(name, execute=True),
        )
        for name, side in int8_networks.SIDES.items()
    ),
    Item(TILING, "chapter 5 on a model of ours", "product", "items.py", example_on_devices),
    Item(TILING, "chapter 5 on MLPerf Tiny", "product", "items.py", public_models_on_devices, "models"),
    Item("arXiv 2507.16594", "MobileNetV2 in two", "product", "fused_tiling/split_networks.py", stage_split),
    Item("arXiv 2605.09357", "MobileNetV2 by kernels", "benchmark", "fused_tiling/split_networks.py", kernel_split),
    Item(JOINT, "Tables 6.1 to 6.4, Algorithms 8 to 10", "benchmark", "joint_memory/joint.py", joint_example),
    *(
        Item(JOINT, f"Table 6.6, application {n}", "product", "joint_memory/joint.py", application(n))
        for n in joint.APPLICATIONS
    ),
    Item(JOINT, "partitions in parallel (section 6.6)", "product", "items.py", on_two_cores, "models"),
    Item(REGISTERS, "Figure 6.5, Table 6.1", "product", "../../tests/registers/test_paper.py", register_conflicts),
    Item(REGISTERS, "Table 6.2, on drivers of our own", "product", "../driver_registers.py", own_drivers),
)
