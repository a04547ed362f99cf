"""Allocations of TFLM's own custom operators, which are the same in all kernel libraries.

Sources: signal/micro/kernels/*.cc, with kissfft v130, tensorflow/lite/micro/kernels/decode*.cc and
detection_postprocess.cc. For some operators, Init reads the number of persistent bytes from the custom options.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tflm_memopt.tflm.builtin_memory import Kernel, Node, Persistent, Prepare, Scratch, Step, reads, temps
from tflm_memopt.tflm.structs import Abi, size_of

Options = Mapping[str, Any]
FLOAT32, INT32, INT16 = 0, 2, 7
"""Values of TensorType (schema.fbs) that the option `T` of TFLM's signal operators may have."""
ELEMENT_BYTES: Mapping[int, int] = {FLOAT32: 4, INT32: 4, INT16: 2}
KISS_FACTORS = 264
"""The struct kiss_fft_state has two ints and 64 factors before its twiddle factors (kissfft/_kiss_fft_guts.h)."""


def _with_options(steps: Callable[[Node, Options, Abi], Iterator[Step]]) -> Prepare:
    """Return a Prepare or Init that reads the custom options as a flexbuffer map."""

    def replay(node: Node, abi: Abi) -> Iterator[Step]:
        from flatbuffers import flexbuffers  # noqa: PLC0415 # slow to import, and few models need it

        try:
            found = list(steps(node, flexbuffers.Loads(node.options["custom_options"]), abi))
        except Exception:  # for damaged options, flexbuffers raises arbitrary exceptions, and TFLM crashes
            return
        yield from found

    return replay


def _circular_buffer(capacity: int, abi: Abi) -> Persistent:
    """Return the allocation that CircularBufferGetNeededMemory states: a struct, and two int16 values for each item."""
    return Persistent(size_of("tflm_signal::CircularBuffer", abi) + 4 * capacity)


def _circular_buffers(node: Node, capacity: int, abi: Abi) -> Iterator[Step]:
    count = node.elements("i0") // node.dim("i0", node.rank("i0") - 1)
    yield Persistent(count * size_of("pointer", abi))
    yield Persistent(count * size_of("pointer", abi))
    for _ in range(count):
        yield _circular_buffer(capacity, abi)


@_with_options
def _delay(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0")
    frame = node.dim("i0", node.rank("i0") - 1)
    yield from _circular_buffers(node, frame + int(options["delay_length"]), abi)


@_with_options
def _framer(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0 o1")
    size, step = int(options["frame_size"]), int(options["frame_step"])
    yield from _circular_buffers(node, -(-size // step) * step, abi)


@_with_options
def _stacker_init(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    frames = int(options["stacker_left_context"]) + int(options["stacker_right_context"]) + 1
    yield _circular_buffer(int(options["num_channels"]) * frames, abi)


@_with_options
def _overlap_add(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0")
    rank = node.rank("i0")
    size, frames = node.dim("i0", rank - 1), node.dim("i0", rank - 2)
    count = node.elements("i0") // (size * frames)
    yield Persistent(count * size_of("pointer", abi))
    for _ in range(count):
        yield Persistent(size * ELEMENT_BYTES[int(options["T"])])


@_with_options
def _fft_init(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    yield Persistent(_fft_state(options, abi))


@_with_options
def _inverse_fft_init(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    """Allocate the inverse FFT's state, which for float32 also has a length and a pointer
    (signal/src/irfft_float.cc).
    """
    own = 2 * size_of("pointer", abi) if int(options["T"]) == FLOAT32 else 0
    yield Persistent(_fft_state(options, abi) + own)


def _fft_state(options: Options, abi: Abi) -> int:
    """Return the number of bytes that kiss_fftr_alloc takes for pointers, a complex FFT of half the length, a buffer
    and twiddle factors.
    """
    half, complex_bytes = int(options["fft_length"]) // 2, 2 * ELEMENT_BYTES[int(options["T"])]
    return 3 * size_of("pointer", abi) + KISS_FACTORS + complex_bytes * (half + half * 3 // 2)


@_with_options
def _rfft(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0")
    yield Scratch(int(options["fft_length"]) * ELEMENT_BYTES[int(options["T"])])


def _channels(nbytes: int, more: int = 0) -> Prepare:
    """Allocate `nbytes` bytes for each of `num_channels + more` channels."""

    def steps(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
        yield Persistent((int(options["num_channels"]) + more) * nbytes)

    return _with_options(steps)


def _decode(node: Node, abi: Abi) -> Iterator[Step]:
    """Allocate the states of DECODE. For each output, DECODE has two inputs: coded data and ancillary data, whose first
    byte identifies the coding.
    """
    yield Persistent(len(node.outputs) * size_of("pointer", abi))
    for k, output in enumerate(node.outputs):
        yield from temps(node, f"i{2 * k} i{2 * k + 1} o{k}")
        ancillary = node.tensor(f"i{2 * k + 1}")
        if ancillary is None or ancillary.data is None or not ancillary.data.size:
            return  # TFLM refuses the operator
        coding = ancillary.data.reshape(-1).view("u1")[0]
        if coding >= len(DECODERS):
            return
        yield Persistent(size_of(DECODERS[coding], abi))
        points = output.quantization.zero_point if output.quantization is not None else ()
        if DECODERS[coding] == PRUNE and len(points) > 1 and any(points):
            yield Persistent(len(points))


PRUNE = "DecodeStatePrune"
DECODERS = ("DecodeStateLut", "DecodeStateHuffman", PRUNE)


@_with_options
def _detection_postprocess(node: Node, options: Options, abi: Abi) -> Iterator[Step]:
    detections, classes = int(options["max_detections"]), int(options["num_classes"])
    yield from temps(node, "i0 i1 i2")
    boxes = node.dim("i0", 1)
    several = 4 * detections * boxes
    yield Scratch(boxes)
    yield Scratch(16 * boxes)
    yield Scratch(4 * node.dim("i1", 1) * node.dim("i1", 2))
    yield from (Scratch(4 * boxes), Scratch(4 * boxes), Scratch(several), Scratch(several), Scratch(4 * boxes))
    yield Scratch(several)
    yield Scratch(4 * boxes * max(classes, detections))
    yield Scratch(4 * boxes * min(boxes, detections))


KERNELS: Mapping[str, Kernel] = {
    "SignalDelay": Kernel(state="signal::DelayParams", prepare=_delay),
    "SignalEnergy": Kernel(state="signal::EnergyParams", prepare=reads("i0 o0")),
    "SignalFftAutoScale": Kernel(prepare=reads("i0 o0 o1")),
    "SignalFilterBank": Kernel(
        state="signal::FilterBankParams", init=_channels(8, more=1), prepare=reads("i0 i1 i2 i3 i4 i5 o0")
    ),
    "SignalFilterBankLog": Kernel(state="signal::LogParams", prepare=reads("i0 o0")),
    "SignalFilterBankSpectralSubtraction": Kernel(
        state="signal::SpectralSubtractionParams", init=_channels(4), prepare=reads("i0 o0 o1")
    ),
    "SignalFilterBankSquareRoot": Kernel(prepare=reads("i0 i1 o0")),
    "SignalFramer": Kernel(state="signal::FramerParams", prepare=_framer),
    "SignalIrfft": Kernel(state="signal::IrfftParams", init=_inverse_fft_init, prepare=reads("i0 o0")),
    "SignalOverlapAdd": Kernel(state="signal::OverlapAddParams", prepare=_overlap_add),
    "SignalPCAN": Kernel(state="signal::PcanParams", prepare=reads("i0 i1 i2 o0")),
    "SignalRfft": Kernel(state="signal::RfftParams", init=_fft_init, prepare=_rfft),
    "SignalStacker": Kernel(state="signal::StackerParams", init=_stacker_init, prepare=reads("i0 o0 o1")),
    "SignalWindow": Kernel(state="signal::WindowParams", prepare=reads("i0 i1 o0")),
    "TFLM_DECODE": Kernel(prepare=_decode),
    "TFLite_Detection_PostProcess": Kernel(state="detection_postprocess::OpData", prepare=_detection_postprocess),
}
