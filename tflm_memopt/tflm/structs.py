"""Sizes of TFLM's own structs, from which the arena is predicted.

The sizes come from the debug information of TFLM's objects (tensorflow/tflite-micro at 90b983c2b, gcc 12.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Abi = Literal["ilp32", "ilp32-full", "lp64", "lp64-full"]
"""Names of builds of TFLM. ilp32 is TFLM's own Makefile for Cortex-M4, with -DTF_LITE_STATIC_MEMORY and Arm's EABI,
where an enum is as small as its values. ilp32-full is the largest of the usual 32-bit builds: without
TF_LITE_STATIC_MEMORY, as in Arduino libraries, and with enums of 4 B, as on RISC-V and Xtensa. lp64 is the official
Python wheel for x86-64, with TF_LITE_STATIC_MEMORY and USE_TFLM_COMPRESSION. lp64-full is x86-64 without
TF_LITE_STATIC_MEMORY, as measured from TFLM's headers of October 2023.
"""

PLANNER_BYTES_PER_BUFFER = 40
"""GreedyMemoryPlanner::per_buffer_size() is ten ints (memory_planner/greedy_memory_planner.h)."""


class StructSize(NamedTuple):
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class Struct:
    """Size and alignment of a C++ type under each ABI, and the file that declares the type. The path of the file is
    relative to tensorflow/lite/micro/ or to the root of TFLM's sources.
    """

    ilp32: tuple[int, int]
    lp64: tuple[int, int]
    source: str
    ilp32_full: tuple[int, int] | None = None
    """Size in the ABI ilp32-full, if the size differs from the size in the ABI ilp32."""
    lp64_full: tuple[int, int] | None = None
    """Size in the ABI lp64-full, if the size differs from the size in the ABI lp64."""

    def of(self, abi: Abi) -> StructSize:
        full = {"ilp32-full": self.ilp32_full, "lp64-full": self.lp64_full}.get(abi)
        return StructSize(*(full or (self.ilp32 if abi.startswith("ilp32") else self.lp64)))


_COMMON = "tensorflow/lite/core/c/common.h"
_OPTIONS = "tensorflow/compiler/mlir/lite/core/c/builtin_op_data.h"
_TYPES = "tensorflow/lite/kernels/internal/types.h"

STRUCTS: Mapping[str, Struct] = {
    "SingleArenaBufferAllocator": Struct((36, 4), (72, 8), "arena_allocator/single_arena_buffer_allocator.h"),
    "GreedyMemoryPlanner": Struct((44, 4), (72, 8), "memory_planner/greedy_memory_planner.h"),
    "MicroAllocator": Struct((36, 4), (72, 8), "micro_allocator.h"),
    "MicroBuiltinDataAllocator": Struct((8, 4), (16, 8), "micro_allocator.cc"),
    "SubgraphAllocations": Struct((8, 4), (24, 8), "micro_allocator.h"),
    "NodeAndRegistration": Struct((32, 4), (64, 8), "micro_allocator.h", (44, 4), (88, 8)),
    "TfLiteEvalTensor": Struct((12, 4), (24, 8), _COMMON),
    "TfLiteTensor": Struct((32, 4), (64, 8), _COMMON, (64, 4), (112, 8)),
    "TfLiteAffineQuantization": Struct((12, 4), (24, 8), _COMMON),
    "ScratchBufferRequest": Struct((12, 4), (16, 8), "micro_allocator.h"),
    "ScratchBufferHandle": Struct((4, 4), (8, 8), "micro_allocator.h"),
    "AllocationInfo": Struct((24, 4), (32, 8), "micro_allocation_info.h"),
    "pointer": Struct((4, 4), (8, 8), "size_t, and every pointer"),
    "int": Struct((4, 4), (4, 4), "int, and the items of a TfLiteIntArray"),
    "MicroResourceVariables": Struct((12, 4), (16, 8), "micro_resource_variable.h"),
    "MicroResourceVariable": Struct((20, 4), (40, 8), "micro_resource_variable.h"),
    # Structs of builtin data, which the flatbuffer parser makes from operator options.
    "TfLiteAddParams": Struct((2, 1), (8, 4), _OPTIONS, (8, 4)),
    "TfLiteArgMaxParams": Struct((1, 1), (4, 4), _OPTIONS, (4, 4)),
    "TfLiteArgMinParams": Struct((1, 1), (4, 4), _OPTIONS, (4, 4)),
    "TfLiteBatchMatMulParams": Struct((3, 1), (3, 1), _OPTIONS),
    "TfLiteCallOnceParams": Struct((4, 4), (4, 4), _OPTIONS),
    "TfLiteCastParams": Struct((2, 1), (8, 4), _OPTIONS, (8, 4)),
    "TfLiteConcatenationParams": Struct((8, 4), (8, 4), _OPTIONS),
    "TfLiteConvParams": Struct((28, 4), (28, 4), _OPTIONS),
    "TfLiteCumsumParams": Struct((2, 1), (2, 1), _OPTIONS),
    "TfLiteDepthToSpaceParams": Struct((4, 4), (4, 4), _OPTIONS),
    "TfLiteDepthwiseConvParams": Struct((28, 4), (28, 4), _OPTIONS),
    "TfLiteDivParams": Struct((1, 1), (4, 4), _OPTIONS, (4, 4)),
    # TFLM's wheel is a newer version, whose TfLiteFullyConnectedParams is larger
    "TfLiteFullyConnectedParams": Struct((5, 1), (32, 8), _OPTIONS, (16, 4)),
    "TfLiteGatherParams": Struct((8, 4), (8, 4), _OPTIONS),
    "TfLiteIfParams": Struct((8, 4), (8, 4), _OPTIONS),
    "TfLiteL2NormParams": Struct((1, 1), (4, 4), _OPTIONS, (4, 4)),
    "TfLiteLeakyReluParams": Struct((4, 4), (4, 4), _OPTIONS),
    "TfLiteMirrorPaddingParams": Struct((1, 1), (4, 4), _OPTIONS, (4, 4)),
    "TfLiteMulParams": Struct((1, 1), (4, 4), _OPTIONS, (4, 4)),
    "TfLitePackParams": Struct((8, 4), (8, 4), _OPTIONS),
    "TfLitePoolParams": Struct((40, 4), (40, 4), _OPTIONS),
    "TfLiteReducerParams": Struct((1, 1), (1, 1), _OPTIONS),
    "TfLiteReshapeParams": Struct((36, 4), (36, 4), _OPTIONS),
    "TfLiteResizeBilinearParams": Struct((2, 1), (2, 1), _OPTIONS),
    "TfLiteResizeNearestNeighborParams": Struct((2, 1), (2, 1), _OPTIONS),
    "TfLiteSVDFParams": Struct((8, 4), (12, 4), _OPTIONS, (12, 4)),
    "TfLiteShapeParams": Struct((1, 1), (4, 4), _OPTIONS, (4, 4)),
    "TfLiteSoftmaxParams": Struct((4, 4), (4, 4), _OPTIONS),
    "TfLiteSpaceToDepthParams": Struct((4, 4), (4, 4), _OPTIONS),
    "TfLiteSplitParams": Struct((4, 4), (4, 4), _OPTIONS),
    "TfLiteSplitVParams": Struct((4, 4), (4, 4), _OPTIONS),
    "TfLiteSqueezeParams": Struct((36, 4), (36, 4), _OPTIONS),
    "TfLiteStridedSliceParams": Struct((24, 4), (24, 4), _OPTIONS),
    "TfLiteSubParams": Struct((2, 1), (8, 4), _OPTIONS, (8, 4)),
    "TfLiteTransposeConvParams": Struct((16, 4), (20, 4), _OPTIONS, (20, 4)),
    "TfLiteUnidirectionalSequenceLSTMParams": Struct((16, 4), (16, 4), _OPTIONS),
    "TfLiteUnpackParams": Struct((8, 4), (8, 4), _OPTIONS),
    "TfLiteVarHandleParams": Struct((8, 4), (16, 8), _OPTIONS),
    "TfLiteWhileParams": Struct((8, 4), (8, 4), _OPTIONS),
    "OpDataAbsRsqrt": Struct((28, 4), (28, 4), "kernels/elementwise.cc"),
    "OpDataAdd": Struct((60, 4), (60, 4), "kernels/add.h"),
    "add_n::OpData": Struct((40, 4), (40, 4), "kernels/add_n.cc"),
    # assign_variable::OpData exists only for compressed models
    "assign_variable::OpData": Struct((0, 1), (4, 4), "kernels/assign_variable.cc"),
    "OpDataBatchMatmul": Struct((16, 4), (32, 8), "kernels/batch_matmul.h"),
    "QuantizationOpDataBatchMatmul": Struct((28, 4), (28, 4), "kernels/batch_matmul.h"),
    "call_once::OpData": Struct((8, 4), (8, 4), "kernels/call_once.cc"),
    "OpDataCircularBuffer": Struct((8, 4), (8, 4), "kernels/circular_buffer.h"),
    "comparisons::OpData": Struct((32, 4), (32, 4), "kernels/comparisons.cc"),
    "concatenation::OpData": Struct((24, 4), (80, 8), "kernels/concatenation.cc"),
    "OpDataConv": Struct((56, 4), (80, 8), "kernels/conv.h"),
    "cumsum::OpData": Struct((36, 4), (36, 4), "kernels/cumsum.cc"),
    "detection_postprocess::OpData": Struct((112, 4), (112, 4), "kernels/detection_postprocess.cc"),
    "DequantizeOpData": Struct((32, 8), (32, 8), "kernels/dequantize.h"),
    "OpDataDiv": Struct((28, 4), (28, 4), "kernels/div.cc"),
    "elu::OpData": Struct((256, 1), (256, 1), "kernels/elu.cc"),
    "embedding_lookup::OpData": Struct((8, 4), (16, 8), "kernels/embedding_lookup.cc"),
    "OpDataFullyConnected": Struct((48, 4), (72, 8), "kernels/fully_connected.h"),
    "HardSwishParams": Struct((20, 4), (20, 4), _TYPES),
    "if::OpData": Struct((8, 4), (8, 4), "kernels/if.cc"),
    "L2NormalizationParams": Struct((4, 4), (4, 4), _TYPES),
    "LeakyReluOpData": Struct((24, 4), (24, 4), "kernels/leaky_relu.h"),
    "LogSoftmaxOpData": Struct((28, 4), (40, 8), "kernels/log_softmax.cc"),
    "OpDataLogistic": Struct((16, 4), (16, 4), "kernels/logistic.h"),
    "OpDataLSTM": Struct((688, 8), (688, 8), "kernels/lstm_shared.h"),
    "OpDataLSTM 2023": Struct((384, 4), (432, 8), "kernels/unidirectional_sequence_lstm.cc, January 2023"),
    "OpDataMirrorPad": Struct((20, 4), (20, 4), "kernels/mirror_pad.cc"),
    "OpDataMul": Struct((36, 4), (36, 4), "kernels/mul.h"),
    "pad::OpData": Struct((56, 4), (56, 4), "kernels/pad.h"),
    "OpDataPooling": Struct((32, 4), (32, 4), "kernels/pooling.h"),
    "PreluParams": Struct((28, 4), (28, 4), _TYPES),
    "OpDataQuantizeReference": Struct((32, 8), (32, 8), "kernels/quantize.h"),
    "OpDataReduce": Struct((44, 4), (44, 4), "kernels/reduce.h"),
    "ReluOpData": Struct((28, 4), (28, 4), "kernels/activations.h"),
    "Relu6OpData": Struct((8, 4), (8, 4), "kernels/activations.h"),
    "select::OpData": Struct((1, 1), (1, 1), "kernels/select.cc"),
    "SoftmaxParams": Struct((56, 8), (80, 8), _TYPES),
    "SpaceToBatchParams": Struct((4, 4), (4, 4), _TYPES),
    "squared_difference::OpData": Struct((112, 8), (112, 8), "kernels/squared_difference.cc"),
    "StridedSliceParams": Struct((84, 4), (84, 4), _TYPES),
    "OpDataSub": Struct((52, 4), (52, 4), "kernels/sub.h"),
    "OpDataSvdf": Struct((36, 4), (36, 4), "kernels/svdf.h"),
    "tanh::OpData": Struct((16, 4), (16, 4), "kernels/tanh.cc"),
    "transpose_conv::OpData": Struct((72, 4), (88, 8), "kernels/transpose_conv.cc"),
    "var_handle::OpData": Struct((4, 4), (4, 4), "kernels/var_handle.cc"),
    "while::OpData": Struct((8, 4), (8, 4), "kernels/while.cc"),
    "tflm_signal::CircularBuffer": Struct((24, 4), (40, 8), "signal/src/circular_buffer.h"),
    "signal::DelayParams": Struct((20, 4), (32, 8), "signal/micro/kernels/delay.cc"),
    "signal::EnergyParams": Struct((8, 4), (8, 4), "signal/micro/kernels/energy.cc"),
    "signal::FilterBankParams": Struct((36, 4), (64, 8), "signal/micro/kernels/filter_bank.cc"),
    "signal::LogParams": Struct((8, 4), (8, 4), "signal/micro/kernels/filter_bank_log.cc"),
    "signal::SpectralSubtractionParams": Struct(
        (44, 4), (56, 8), "signal/micro/kernels/filter_bank_spectral_subtraction.cc"
    ),
    "signal::FramerParams": Struct((28, 4), (40, 8), "signal/micro/kernels/framer.cc"),
    "signal::IrfftParams": Struct((24, 4), (32, 8), "signal/micro/kernels/irfft.cc"),
    "signal::OverlapAddParams": Struct((24, 4), (32, 8), "signal/micro/kernels/overlap_add.cc"),
    "signal::PcanParams": Struct((4, 4), (4, 4), "signal/micro/kernels/pcan.cc"),
    "signal::RfftParams": Struct((32, 4), (48, 8), "signal/micro/kernels/rfft.cc"),
    "signal::StackerParams": Struct((36, 4), (56, 8), "signal/micro/kernels/stacker.cc"),
    "signal::WindowParams": Struct((8, 4), (8, 4), "signal/micro/kernels/window.cc"),
    "DecodeStateHuffman": Struct((28, 4), (56, 8), "kernels/decode_state_huffman.h"),
    "DecodeStateLut": Struct((36, 4), (72, 8), "kernels/decode_state_lut.h"),
    "DecodeStatePrune": Struct((40, 4), (80, 8), "kernels/decode_state_prune.h"),
    # In CMSIS-NN and ESP-NN, most kernels extend the reference kernel's struct by indices of scratch buffers.
    "OpDataConv+int": Struct((60, 4), (88, 8), "kernels/cmsis_nn/conv.cc, depthwise_conv.cc; kernels/esp_nn/conv.cc"),
    "OpDataPooling+int": Struct((36, 4), (36, 4), "kernels/cmsis_nn/pooling.cc"),
    "SoftmaxParams+int": Struct((64, 8), (88, 8), "kernels/esp_nn/softmax.cc"),
    "SoftmaxParams+2 int": Struct((64, 8), (88, 8), "kernels/cmsis_nn/softmax.cc"),
    "cmsis_nn::BatchMatmul": Struct((36, 4), (56, 8), "kernels/cmsis_nn/batch_matmul.cc"),
    "cmsis_nn::FullyConnected": Struct((72, 4), (104, 8), "kernels/cmsis_nn/fully_connected.cc"),
    "cmsis_nn::Lstm": Struct((912, 8), (1008, 8), "kernels/cmsis_nn/unidirectional_sequence_lstm.cc"),
    "cmsis_nn::Svdf": Struct((40, 4), (48, 8), "kernels/cmsis_nn/svdf.cc"),
    "cmsis_nn::TransposeConv": Struct((72, 4), (80, 8), "kernels/cmsis_nn/transpose_conv.cc"),
}
"""Sizes of structs by C++ name. If several files define a struct OpData, the name in the table begins with the name of
the file.
"""


def size_of(name: str, abi: Abi) -> int:
    return STRUCTS[name].of(abi).size
