"""Lists the types of the results of optimize(), explore(), inspect() and fit(), which are plain data."""

from __future__ import annotations

from tflm_memopt.answers.batch import Batch, Entry
from tflm_memopt.answers.convention import PLANNED_FOR, convention
from tflm_memopt.answers.devices import (
    DeviceReport,
    DevicesExploration,
    DevicesPoint,
    DevicesReport,
    DevicesTime,
    OneDevice,
    OptimizedDevices,
    StageOnDevice,
)
from tflm_memopt.answers.exploration import Exploration, PointReport
from tflm_memopt.answers.fits import BoardReport, Fits
from tflm_memopt.answers.groups import GroupReport, KeptBuiltin, RollingBufferReport, StageReport
from tflm_memopt.answers.inspection import Inspection, OperatorReport, TensorReport
from tflm_memopt.answers.optimized import Optimized, Sample
from tflm_memopt.answers.report import (
    Accuracy,
    Balance,
    BarriersReport,
    CoreReport,
    FasterPlan,
    Flash,
    Footprints,
    InterfaceReport,
    Macs,
    MemoriesReport,
    PackedEstimate,
    Report,
    SourceReport,
    WindowReport,
)

__all__ = [
    "PLANNED_FOR",
    "Accuracy",
    "Balance",
    "BarriersReport",
    "Batch",
    "BoardReport",
    "CoreReport",
    "DeviceReport",
    "DevicesExploration",
    "DevicesPoint",
    "DevicesReport",
    "DevicesTime",
    "Entry",
    "Exploration",
    "FasterPlan",
    "Fits",
    "Flash",
    "Footprints",
    "GroupReport",
    "Inspection",
    "InterfaceReport",
    "KeptBuiltin",
    "Macs",
    "MemoriesReport",
    "OneDevice",
    "OperatorReport",
    "Optimized",
    "OptimizedDevices",
    "PackedEstimate",
    "PointReport",
    "Report",
    "RollingBufferReport",
    "Sample",
    "SourceReport",
    "StageOnDevice",
    "StageReport",
    "TensorReport",
    "WindowReport",
    "convention",
]
