/* SPDX-License-Identifier: Apache-2.0 */
/* The program: what the converter writes and tmo_run() executes in place, from flash.
 *
 * Little-endian, 16-byte aligned. A header, then three tables (tensors, operators, blocks), then constants. Every offset that names a
 * constant or a table counts bytes from the start of the program; 0 means "none". The layout of these structs is defined here and
 * nowhere else: tflm_memopt/lower/records.py repeats it as tables, which a test compares with offsetof() and sizeof(). */
#ifndef TMO_PROGRAM_H_
#define TMO_PROGRAM_H_

#include <stdint.h>

#include "tmo/kinds.def"

#define TMO_MAGIC 0x314F4D54u /* "TMO1" */
#define TMO_VERSION 2u

#define TMO_NONE 0xFFFFu     /* in the table of a tmo_access: no row at all */
#define TMO_MAX_INPUTS 4     /* operands that an operator reads row by row */
#define TMO_MAX_IO 16        /* inputs and outputs of a program, together */
#define TMO_MAX_KERNEL_H 64  /* rows that are read at once, of all operands together */
#define TMO_MAX_TAPS 64      /* pixels of a window that is read at once, in a tiled block */
#define TMO_INDEX_BYTES 4    /* of an int32 index: a pixel of that many channels */
#define TMO_TABLE_BYTES 256  /* of LOOKUP: one for each int8 */
#define TMO_CURVE_WORDS 128  /* of LSTM: uint16_t[256] */
#define TMO_PROGRAM_BASE 255 /* tmo_tensor.base of a constant: the program itself */
#define TMO_LINK_BASE 254    /* of a tensor whose rows are on their way to another device, or from one */

/* What the program is packed for. A library refuses what its core cannot run; every core runs generic programs. */
enum {
  TMO_TARGET_GENERIC = 0,
  TMO_TARGET_DSP = 1, /* Armv7E-M and Armv8-M with the DSP extension: Cortex-M4, M7, M33, and M55 as well */
  TMO_TARGET_MVE = 2, /* Helium, which has that extension, too: Cortex-M55 */
  TMO_TARGET_RVV = 3  /* RISC-V with vectors, Zve32x or more, in a build with TMO_RVV */
};

/* How the constants of one operator are laid out; 0: as tmo_op says. The converter packs what it has proved that the fast kernel computes
 * exactly: programs for any target may have operators of both sorts. A packed operator is neither iterative nor in channel groups.
 *
 * Both: the zero point of the input is in the bias; taps outside of the input hold it. With the multiplier m and the shift -e of a channel,
 * 2^30 <= m < 2^31 and 1 <= e <= 22, a sum s becomes saturate8((high(s * m2) + s + (s >> 31) + c) >> e), high() being the upper half of the
 * product, rounded; m2 = 2 * m mod 2^32, c = (2 * zero_out + 1) * 2^e / 2. That is rescale() and zero_out together. */
enum {
  TMO_PACKING_NONE = 0,
  /* CONV, and DEPTHWISE of one channel. k counts the taps of a kernel row, channels innermost, each row up to a multiple of 4, and all of
   * them up to a multiple of 8: K. Channels go in pairs (A, B), the last B may be empty.
   * weights: for each pair, k in quads: int16_t 256 * B + A of k, k + 2, k + 1, k + 3.
   * bias: for each pair, int32_t: bias A, 256 * bias B + bias A, then m2, c, e of A and of B.
   * accumulator: 4-aligned scratch of int16_t[K] for as many pixels as a firing makes at once: at most TMO_PACKED_PIXELS, and
   * TMO_PACKED_TILE int16_t, three eighths of them for more than two pixels; K is not greater. None where firings make one pixel each, from K
   * channels of one, to 4 channels or more. */
  TMO_PACKING_DSP_CONV = 1,
  /* DEPTHWISE of at least 4 channels, as many out as in, and at most TMO_PACKED_TAPS taps. Channels go in fours; the last ones overlap those
   * before them.
   * weights: for each four channels c, int32_t[4] biases; for each three taps, filled up, int16_t of taps 0 and 1 of each channel, then of tap 2
   * those of c, c + 2, c + 1, c + 3; for each channel, int32_t m2, c, e. 4-aligned.
   * accumulator: scratch of a pixel. */
  TMO_PACKING_DSP_DEPTHWISE = 2,
  /* CONV, and DEPTHWISE of one channel, for Helium. K: the values under a window, row by row, up to a multiple of 16.
   * weights: for each four channels, the last ones may be empty, for each 16 values, those of the first one, of the second one, ..
   * bias: for each four channels, int32_t[4] biases, [4] m (not m2), [4] -e.
   * accumulator: 4-aligned scratch of int8_t[K] for as many pixels as a firing makes at once: at most TMO_MVE_PIXELS, and TMO_MVE_TILE bytes; K
   * is not greater. None where firings make one pixel each, from K channels of one. */
  TMO_PACKING_MVE_CONV = 3,
  /* DEPTHWISE of at least 16 channels, otherwise as TMO_PACKING_DSP_DEPTHWISE; no weight is -128. Also of 4, 8 or 12, repeated up to 16, with 3x3
   * taps, not dilated in a row, to the whole range of a ReLU: act_min and zero point -128, act_max 127.
   * weights: for each sixteen channels, int32_t[16] biases; for each tap, up to an even number, int8_t[16] weights; int32_t[16] m, [16] -e. All
   * but the weights of channels c + (0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15). 4-aligned. */
  TMO_PACKING_MVE_DEPTHWISE = 4,
  /* ADD, for both targets. An operand whose scale is exactly 1/2, as one is at least, has no right shift: it is shifted to the left once more instead.
   * bias: int32_t left shift, m2, c, e of operand 0, of operand 1; m2, c, e of the output. c of an operand is that of zero point 0. */
  TMO_PACKING_DSP_ADD = 5,
  /* CONV of single pixels in rows of one pixel, from a multiple of 8 channels to an even number of at least 4: TMO_PACKING_DSP_CONV without
   * scratch. weights: as there, but three pairs at once: of each two values the int16_t of pair 0, of pair 1, of pair 2. Two or four pairs at
   * the end, or none, are one after the other. */
  TMO_PACKING_DSP_DENSE = 6,
  /* CONV, and DEPTHWISE of one channel, for vectors of RISC-V. K: the values under a window, row by row.
   * weights: for each of them, those of all output channels.
   * bias: int32_t[channels] biases, [channels] m (not m2), int16_t[channels] e.
   * accumulator: 4-aligned scratch of int8_t[K] for as many pixels as a firing makes at once: at most TMO_PACKED_PIXELS, and TMO_MVE_TILE bytes,
   * three eighths of them for more than two pixels; K is not greater. None where firings make one pixel each, from one. */
  TMO_PACKING_RVV_CONV = 7,
  /* DEPTHWISE as of TMO_PACKING_DSP_DEPTHWISE.
   * weights: for each tap, those of all channels. bias, accumulator: as of the two. */
  TMO_PACKING_RVV_DEPTHWISE = 8,
};

#define TMO_PACKED_PIXELS 4  /* output pixels that a packed convolution computes at once */
#define TMO_PACKED_TILE 2304
#define TMO_MVE_PIXELS 2
#define TMO_MVE_TILE 4608
#define TMO_PACKED_TAPS 51   /* of a packed depthwise convolution */
#define TMO_PACKED_SCALES 8  /* int32_t of a pair of channels */
#define TMO_PACKED_SHIFT 22  /* the greatest e */

/* How the rows of a whole tensor lie, as a block counts them. A block that fires from the last row to the first counts from the end. */
enum {
  TMO_LAYOUT_HWC = 0,
  TMO_LAYOUT_ROWS_TURNED = 1,  /* row y is row height - 1 - y in memory */
  TMO_LAYOUT_PIXELS_TURNED = 2, /* and pixel x of it is pixel width - 1 - x: in tiled blocks, which find each pixel by itself */
  TMO_LAYOUT_STATE = 16 /* + i: as HWC, but rows are in ring i of the state, see tmo_ring */
};

/* Where input 0 is, the frame. Every tensor of base 1 is a view of it then. */
enum {
  TMO_INPUT_ARENA = 0,   /* whole in its buffer, as any other input */
  TMO_INPUT_STREAM = 1,  /* it comes a few rows at a time: tmo_push() */
  TMO_INPUT_EXTERNAL = 2, /* io[0] is a tmo_frame, which says where its pixels are */
  TMO_INPUT_LINK = 3      /* whole in its buffer, if there is one; other tensors come from other devices: tmo_run_linked() */
};

/* What the operators compute, and how the converter prepares `multipliers`, `shifts` and `param`. All tensors are int8, unless
 * said otherwise.
 *
 *   rescale(x, m, s): TFLM's MultiplyByQuantizedMultiplier with two roundings, int32 (kernels/internal/common.cc).
 *   quantize(r): (m, s) of TFLM's QuantizeMultiplier, r a double (kernels/internal/quantization_util.cc).
 *   in, out: scales, float32 in the model, made double BEFORE they are divided or multiplied, unless said otherwise.
 *
 * CONV, DEPTHWISE  clamp(rescale(bias + sum w * (x - zero_in), m, s) + zero_out); taps outside of the input count nothing.
 *                  m, s = as TFLM for the operator at hand: one for all, or one for each output channel (TMO_FLAG_PER_CHANNEL).
 * SUMS             sum w * (x - zero_in) alone, of some of the input channels of a CONV: param bytes each, little-endian, signed. `channels` of the
 *                  output counts bytes. Activation range and output's zero point are not used.
 * CONV_S16,        the same of int16 tensors, of which a channel takes two bytes of a pixel: `channels` of a tmo_tensor counts bytes. No zero
 * DEPTHWISE_S16    points; sums of 64 bits, rescaled as TFLM does it; bias int64_t; param = 65536 * activation's maximum + its minimum mod 65536.
 *
 * The following have two operands. One that has height, width or channels 1 is repeated along them; one may be a constant. With
 * TMO_FLAG_SWAPPED, x(0) is operand 1 of the table; multipliers and zero points are the table's all the same.
 *
 * ADD              t(k) = rescale((x(k) - zero_in(k)) << param, m[k], s[k]);  clamp(rescale(t(0) + t(1), m[2], s[2]) + zero_out)
 *                  param = 20; twice = 2 * max(in0, in1); quantize(in0 / twice), quantize(in1 / twice), quantize(twice / (2^20 * out)).
 * SUB              as ADD, t(0) - t(1).
 * SQUARED_DIFFERENCE  as ADD, the square of t(0) - t(1); param = 7, the third factor twice^2 / (2^14 * out).
 * MUL              clamp(rescale((x(0) - zero_in(0)) * (x(1) - zero_in(1)), m, s) + zero_out);  quantize(in0 * in1 / out).
 * MAXIMUM, MINIMUM of the bytes; TFLM does not look at their quantization. No multiplier, no param, no activation range.
 * ADD_S16, SUB_S16 as ADD and SUB, of int16 without zero points; the left shift is 15, param the activation range as of CONV_S16.
 * MUL_S16          as MUL, of int16 without zero points; param: the activation range as of CONV_S16.
 * PRELU            v = x(0) - zero_in(0);  clamp((v < 0 ? rescale(v * (x(1) - zero_in(1)), m[1], s[1]) : rescale(v, m[0], s[0])) + zero_out)
 *                  quantize(in0 / out), quantize(in0 * in1 / out).
 *
 * AVERAGE_POOL     clamp(round(sum / count)), halves away from zero, count = pixels of the clipped window. No multiplier, no param.
 * MAX_POOL         clamp(max), or with param = 1 clamp(min). No multiplier.
 * MEAN             clamp(rescale(sum - zero_in * n, m, s) + zero_out), n = kernel_h * kernel_w; the window must lie inside the input.
 *                  (kernels/internal/reference/reduce.h QuantizedMeanOrSum) n goes into m and s:
 *                    m0, s0 = quantize(in / out);  b = min(floor(log2(n)), 32, 31 + s0);  m = (m0 << b) / n, rounded down;  s = s0 - b
 *                  param unused; act_min, act_max = -128, 127.
 * AVERAGE_POOL_S16, the same of int16 without zero points; param: the activation range, as of CONV_S16.
 * MAX_POOL_S16, MEAN_S16
 * SOFTMAX          over the channels of each pixel, at most 4095 (kernels/internal/reference/softmax.h); output scale 1/256, zero point -128.
 *                    m, s = quantize(min(beta * in * 2^26, 2^31 - 1)), s >= 0
 *                    param = diff_min = -floor(31 * 2^26 / 2^s)
 *                  Zero points and the activation range are not used.
 * SOFTMAX_S16      the same of int16, by interpolation (SoftmaxInt16, the same file); output scale 1/32768.
 *                    m, s = quantize(in * beta * 65535 / 10);  param = 0
 * LOG_SOFTMAX      the logarithm of that (kernels/internal/reference/log_softmax.h); output scale 1/16, zero point 127.
 *                    m[0], s[0] and param as SOFTMAX with beta = 1;  m[1], s[1] = quantize(2^(31 - s[0]) / m[0]), which is below 1
 *                  Zero points and the activation range are not used.
 * ARG_MAX          of each pixel, the number of its first greatest channel, or with param = 1 of its first smallest one: an int32 index, which
 *                  is a pixel of 4 channels. Zero points and the activation range are not used.
 * LOOKUP           table[x + 128]. What TFLM makes of each of the 256 bytes: QUANTIZE int8 -> int8, RELU, LOGISTIC, HARD_SWISH, ... A uint8 is
 *                  the int8 of the same bits.
 *                  Zero points and the activation range are not used.
 * LEAKY_RELU_S16   of int16, without zero points: x < 0 ? rescale(x, m[1], s[1]) : rescale(x, m[0], s[0]), saturated.
 *                  quantize(in / out), quantize(in * alpha / out).
 * CURVE_S16        of int16, without zero points: a sigmoid, or with param = 1 a hyperbolic tangent, by interpolation (kernels/internal/reference/
 *                  integer_ops/logistic.h, tanh.h); output scale 1/32768. The sigmoid's argument in units of 1 / 12288 is (x * m + half) >> -s.
 * OWN              what the application's kernel of that identity makes of each pixel (tmo/own.h), which has as many channels as before. param = the
 *                  identity. Zero points and the activation range are not used.
 * GATHER           row i of a table, i the int32 index that the input pixel holds: its 4 channels are that number's bytes. param = rows of the
 *                  table. An index outside of it ends the run with TMO_ERROR_INDEX, as in today's TFLM; older ones read beyond the table.
 *
 * The following give each element another type, in its place. A channel takes as many bytes of a pixel as an element of the tensor has:
 * `channels` of a tmo_tensor counts bytes. int16 has no zero point. scale = the float32 whose bits `param` has.
 *
 * QUANTIZE         float32 -> int8: saturate8(round(x / scale) + zero_out), halves away from zero, the quotient in float32. What is not a number
 *                  becomes zero_out; what is too large for an int32 saturates, where TFLM's result depends on the core.
 * QUANTIZE_S16     float32 -> int16: the same.
 * DEQUANTIZE       int8 -> float32: scale * (x - zero_in).
 * DEQUANTIZE_S16   int16 -> float32: the same.
 * WIDEN, NARROW,   int8 -> int16, int16 -> int8, int16 -> int16: saturate(rescale(x - zero_in, m, s) + zero_out), m, s = quantize(in / out).
 * RESCALE_S16
 *
 * The following exchange rows with other devices: they are for row blocks only.
 *
 * SEND             row y of the operand goes to another device; the output is of TMO_LINK_BASE.
 * RECEIVE          row y of the output comes from another device; the operand is of TMO_LINK_BASE.
 *
 * The following read other rows than those of a window: they have a tmo_access for each operand, and are for row blocks only.
 *
 * COPY             moves bytes as tmo_copy says. Zero points, window and activation range are not used.
 * RESIZE_BILINEAR  kernels/internal/reference/resize_bilinear.h ResizeBilinearInteger. stride_h, stride_w = its height_scale_10, width_scale_10;
 *                  param = 1 with half_pixel_centers, else 0. An output coordinate o lies at s = o * stride + param * (stride / 2 - 512), in
 *                  1/1024 of a pixel. access: mul = stride_h, div = 1024, extent = 2, add = the constant part of s.
 * BATCH_MATMUL     clamp(rescale(sum (a - zero_in0) * (b - zero_in1), m, s) + zero_out), m, s = quantize(in0 * in1 / out). Row y of operand 0,
 *                  and of operand 1 all rows of a matrix: [depth][out], or with param = 1 [out][depth]. Both have a width of 1.
 * TRANSPOSE_CONV   as CONV, tap (ky, kx) of output (y, x) being input ((y + pad_top - ky) / stride_h, (x + pad_left - kx) / stride_w) where
 *                  that is whole; dilation 1. access: add = pad_top - stride_h * (extent - 1), div = stride_h, extent = ceil(kernel_h / stride_h).
 * LSTM             a step of UNIDIRECTIONAL_SEQUENCE_LSTM (micro/kernels/lstm_eval.h), row y of operand 0 making row y of the output. Operand 1, a
 *                  row of the state, is the row before; operand 2, another one of two bytes a channel, are the cells. Both are written anew.
 *                    gate(g) = saturate16(saturate16(rescale(b[0] + sum w * x(0), m[2g], s[2g])) + saturate16(rescale(b[1] + sum v * x(1), ..[2g + 1])))
 *                    cell = saturate16(rescale(sigmoid(gate 0) * cell, m[8], s[8]) + rescale(sigmoid(gate 1) * tanh(gate 2), m[9], s[9])), limited
 *                    clamp(rescale(tanh(cell) * sigmoid(gate 3), m[10], s[10]) + zero_out)
 *                  Gates: to forget, to let in, what is new, to let out. weights: of each channel the gates' w, then v; bias: uint16_t[256], 65536 times
 *                  the sigmoid of i / 24, then of each channel the gates' two b, less what zero points make. m, s of gates: quantize(in * weights * 2^12).
 *                  param: the range of cells, as of CONV_S16. To the curve, three times a cell in units of 2^-12: (cell * m[11] + half) >> s[11].
 * SLIDING_SUM      a MEAN, or without a multiplier an AVERAGE_POOL, over the last rows of an endless sequence, of which stride_h are new. Its only firing
 *                  reads them, operand 0; operand 1, as many that leave; perhaps all of another operand; and the last one, a row of the state,
 *                  int32_t[output row]. out = that of the last operand and all others but 1, kernel_h * kernel_w pixels of rows which are as wide as
 *                  the output, or wider, by a multiple, and summed up; the last operand gets operand 0 added, and 1 taken off.
 * ADD_SUMS         up to 4 operands have a sum for each value of the output, as SUMS makes them, of param >> 4 * k & 15 bytes in operand k:
 *                  clamp(rescale(bias + all of them, m, s) + zero_out), as CONV; or with b = param >> 16 & 15 their sum itself, of b bytes.
 * TRANSPOSE_CONV_S16  the same, computed as CONV_S16.
 * BATCH_MATMUL_S16 as BATCH_MATMUL, of int16 without zero points; sums of 64 bits, rescaled as CONV_S16's. */
typedef enum {
#define TMO_ENUMERATOR(name, value, ...) TMO_OP_##name = value,
  TMO_EACH_KIND(TMO_ENUMERATOR)
#undef TMO_ENUMERATOR
} tmo_op_kind;

enum {
  TMO_FLAG_ITERATIVE = 1,   /* one input row (or tile) a firing, into int32 accumulators; the last firing writes the output row */
  TMO_FLAG_PER_CHANNEL = 2, /* a multiplier and shift per output channel, else one for all */
  TMO_FLAG_SUMS = 4,        /* reads channel groups, adds them up in int32 accumulators; one more pass writes the output */
  TMO_FLAG_SWAPPED = 8,     /* of two operands: the second of the table comes first in the formula */
};

typedef struct {
  uint32_t magic;
  uint16_t version;
  uint16_t target;
  uint32_t size;      /* bytes of the whole program */
  uint32_t firings;   /* of one run, exactly: the executor stops there */
  uint32_t workspace; /* bytes that it needs */
  uint16_t n_inputs;
  uint16_t n_outputs;
  uint16_t n_tensors;
  uint16_t n_ops;
  uint16_t n_blocks;
  uint16_t input;     /* TMO_INPUT_* */
  uint32_t tensors; /* tmo_tensor[n_tensors] */
  uint32_t ops;     /* tmo_op[n_ops] */
  uint32_t blocks;  /* tmo_block[n_blocks] */
  uint32_t cores;   /* tmo_cores, how two cores share a run; 0: the program is for one core */
  uint32_t state;   /* bytes that outlive the run; 0: none */
  uint32_t rings;   /* tmo_ring[], the last one's `depth` is 0; none without state */
} tmo_header;

/* The state is what one run leaves for the next: io[n_inputs + n_outputs], 4-aligned. Whoever sets all its bytes to 0 resets it.
 *
 * First a uint16_t for each ring: 0, or its key + the slot of its oldest row. Then their rows: row y, counted from the oldest one, is in slot
 * (oldest + y) % depth. Ring after ring, a run that finds 0 sets all rows to `fill`, and one that ends well steps on by `advance` slots: as many
 * rows as have been written to it, over the oldest ones. Keys are drawn from the program, at least 1, so that no key + slot is above UINT16_MAX: a
 * run that finds another number has the state of another program, and ends with TMO_ERROR_STATE.
 *
 * Of a tensor of TMO_LAYOUT_STATE + i whose base is the state, row y is that of the ring. Of any other, the ring has the `rows` rows before row 0,
 * its last one being row -1: they are read as if they were there, and are no padding. */
typedef struct {
  uint32_t offset; /* of its first slot, bytes from the state's start */
  uint32_t row;    /* bytes of a slot */
  uint16_t depth;  /* slots */
  uint16_t advance;
  uint8_t fill;
  uint8_t window; /* 1: it has no rows, but counts runs up to `depth`: one that ends before ends with TMO_WAIT, the window is not full */
  uint16_t key;   /* that of the program */
} tmo_ring;

/* One view of a tensor. Row y lives at base + offset + (y % depth) * width * channels, or in lanes.
 *
 * In a tiled block, a tensor is made strip after strip. hi(m) = clamp(m * advance + end, 0, height): rows below it exist after strip m.
 *   rows == advance ("cache"): every row is made once; strip m makes [hi(m - 1), hi(m)), strip 0 [0, hi(0)).
 *   rows > advance ("recompute"): strip m makes the `rows` rows before m * advance + end, as far as they exist.
 *
 * Lanes divide the `rows` rows of a strip: lane 0 holds the first tmo_lane.rows of them, and so on. Row y of strip m is row i of period s:
 *   cache: t = y + depth, s = t / rows, i = t % rows;  recompute: s = 0, i = y - (m * advance + end - rows).
 * In its lane, whose first row is f, pixel x lives at base + lane.offset + (((s * width + x) * lane.rows + i - f) % lane.depth) * pixel;
 * pixel = channels, or the operator's group_channels when the tensor is made in channel groups. A whole tensor gets them all, side by side.
 *
 * A streamed frame has `rows` rows in io[0], the newest; the `depth` rows before them, or less, are in a ring in the workspace, row y at
 * offset + (y % depth) * width * channels. Of an external frame, pixels that are not int8 yet are made so in the workspace, from `offset`
 * on, for one window after the other: row after row of a row block, pixel after pixel of a tiled block. */
typedef struct {
  uint32_t offset;   /* bytes from the base; not used with lanes */
  uint32_t channels; /* of all groups */
  uint16_t width;
  uint16_t height;   /* rows of the whole tensor */
  uint16_t depth;    /* rows of the ring; depth == height: resident. With lanes: -end mod advance */
  uint8_t base;      /* 0: workspace; 1..n_inputs: inputs; then the outputs; then the state; TMO_PROGRAM_BASE: a constant, whole; TMO_LINK_BASE */
  uint8_t layout;    /* TMO_LAYOUT_*; of a ring and of lanes, HWC */
  uint32_t lanes;    /* tmo_lane[n_lanes], or none */
  uint16_t n_lanes;
  uint16_t advance;  /* the strips that it is made in, by a tiled block: rows from strip to strip, */
  int16_t end;       /* rows after the first strip, before clamping, */
  uint16_t rows;     /* and rows of a strip. Of a streamed frame: rows that are pushed at once; with rows in a ring: those before row 0 */
} tmo_tensor;

typedef struct {
  uint32_t offset; /* bytes from the tensor's base */
  uint32_t depth;  /* pixels of the ring */
  uint16_t rows;   /* of a strip */
  uint16_t reserved;
} tmo_lane;

/* Which rows of an operand firing y reads, where they are no window: [first, first + extent), as far as the operand has them.
 * first = floor((y * mul + add) / div), or table[y]; TMO_NONE there: no row at all. */
typedef struct {
  int32_t add;
  uint16_t mul;
  uint16_t div;
  uint16_t extent;
  uint16_t reserved;
  uint32_t table; /* uint16_t[height of the output], or none */
} tmo_access;

/* What SEND and RECEIVE say of a tensor that crosses: its number, the devices, and the programs that belong together. */
typedef struct {
  uint32_t identity; /* the same in the programs of all devices, and in no others */
  uint16_t step;     /* numbers the tensors that cross */
  uint8_t from;
  uint8_t to;
} tmo_crossing;

/* How COPY makes an output row: n_moves of tmo_move follow. */
typedef struct {
  uint16_t n_moves;
  uint8_t fills; /* the row is filled before anything is moved */
  int8_t fill;
} tmo_copy;

/* `count` runs of `bytes` bytes: run i goes from byte source + ((y + shift) % period) * phase_step + i * source_step of an input
 * row to byte target + i * target_step of the output row y. */
typedef struct {
  uint16_t row; /* among those that are read: operand 0's `extent` rows first, then operand 1's; nothing is moved where it is not there */
  uint16_t count;
  uint32_t bytes;
  uint32_t source;
  int32_t source_step;
  int32_t phase_step;
  uint32_t target;
  uint32_t target_step;
  uint16_t period;
  uint16_t shift;
} tmo_move;

typedef struct {
  uint8_t kind;  /* tmo_op_kind */
  uint8_t flags;
  int8_t input_zero_point[TMO_MAX_INPUTS];
  int8_t output_zero_point;
  int8_t act_min;
  int8_t act_max;
  uint8_t n_inputs;
  uint16_t input[TMO_MAX_INPUTS];    /* tensor table */
  uint16_t output;                   /* tensor table */
  uint16_t tile;                     /* columns of a firing in a tiled block, else 0 */
  uint16_t kernel_h, kernel_w;
  uint16_t stride_h, stride_w;
  uint16_t dilation_h, dilation_w;
  uint16_t pad_top, pad_left;
  uint16_t packing;     /* TMO_PACKING_* */
  int32_t param;
  uint32_t weights;     /* int8_t[] */
  uint32_t bias;        /* int32_t[channels], or none. int16: int64_t[channels / 2], 4-aligned */
  uint32_t multipliers; /* int32_t[] */
  uint32_t shifts;      /* int8_t[], positive is left */
  uint32_t accumulator; /* bytes from the workspace's start, 4-aligned; int32_t[width * channels] when iterative,
                           [rows of the highest strip * width * channels] when it sums up groups; scratch when packed */
  uint16_t groups;         /* channel groups of a tiled block; 0 or 1: none */
  uint16_t group_channels; /* of each group; the last one may have fewer */
  uint32_t access;         /* tmo_access[n_inputs]; none: the operands are read by the window */
} tmo_op;

/* Consecutive operators whose firings are interleaved as the block's loops say.
 *
 * A unit is what one firing makes (an iterative operator: reads). In a row block, one row. In a tiled block, a segment of `tile` columns
 * of one row; an operator's units come strip after strip (those of its output, of its input when iterative), inside a strip group after
 * group, inside a group tile after tile, inside a tile row after row. All operators of a block have the same strips. A reader in strip m finds
 * strip m of a tensor that is recomputed, and the strip in which a row was new of a tensor that is cached.
 *
 * Channel groups: a CONV that reads all channels and writes one group of them at a time, operators that work channel by channel on what
 * it writes, and a CONV that adds it all up (TMO_FLAG_SUMS). All have the same groups; they go through all of them in each strip, and the
 * last operator once more, to write its output: the others need their inputs no longer then. */
typedef struct {
  uint16_t first_op;
  uint16_t n_ops;
  uint32_t counters; /* bytes from the workspace's start, 2-aligned: the next unit; uint16_t[n_ops], tiled: tmo_unit[n_ops] */
  uint16_t strips;   /* 0: row block */
  uint16_t reserved;
  uint32_t loops;    /* uint8_t[]: TMO_LOOP_* */
} tmo_block;

/* The order of a block's firings, as a sequence of codes. Each fires the next unit of an operator, or opens or closes a loop; numbers are
 * little-endian, operators count from the block's first. */
enum {
  /* n < TMO_LOOP_NEAR: operator n fires */
  TMO_LOOP_NEAR = 0xFC,
  TMO_LOOP_FAR = 0xFC,    /* uint16_t op: it fires */
  TMO_LOOP_SKIP = 0xFD,   /* uint16_t op, strips: it leaves the rest of its strip out, and the next strips - 1, and fires */
  TMO_LOOP_REPEAT = 0xFE, /* uint16_t times: the codes up to the matching TMO_LOOP_END run so often, at least once */
  TMO_LOOP_END = 0xFF     /* ends a loop, or the block */
};
#define TMO_LOOP_DEPTH 4 /* loops inside one another */

typedef struct {
  uint16_t strip, group, tile, row;
} tmo_unit;

/* A run by two cores. Both walk through all firings, each with counters of its own, and of each firing make the share that is theirs, or none. They
 * meet before some of them; between two meetings neither reads what the other writes, nor writes what it reads: the converter's checker proves it.
 * For one core shares mean nothing. */
enum {
  TMO_SHARE_FIRST = 0,   /* all of it is made by core 0, */
  TMO_SHARE_SECOND = 1,  /* by core 1, */
  TMO_SHARE_COLUMNS = 2, /* by both: columns [0, cut) of the output row by core 0, the others by core 1; */
  TMO_SHARE_CHANNELS = 3 /* the same of channels: of CONV and, as many out as in, DEPTHWISE, of int8; packed ones cut at a multiple of 4, 6 of dense ones */
};

/* Of one operator. */
typedef struct {
  uint16_t how; /* TMO_SHARE_* */
  uint16_t cut;
  uint32_t accumulator; /* tmo_op.accumulator as core 1 has it */
} tmo_share;

/* Of row blocks alone; input 0 is in the arena, and nothing outlives the run. */
typedef struct {
  uint32_t shares;     /* tmo_share[n_ops] */
  uint32_t meetings;   /* uint8_t[(firings + 7) / 8]: bit i % 8 of byte i / 8 says that the cores meet before firing i, the first one being 0 */
  uint32_t n_meetings; /* bits that are set */
  uint32_t alone;      /* as many bits: core 0 makes all of firing i, whatever the share of its operator; or none */
  uint32_t counters;   /* core 1's are so many bytes behind tmo_block.counters */
} tmo_cores;

#endif /* TMO_PROGRAM_H_ */
