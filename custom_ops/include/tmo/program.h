/* SPDX-License-Identifier: Apache-2.0 */
/* The program, which the converter writes and tmo_run() executes in place, from flash. Written by scripts/program_format.py.
 *
 * Little-endian, 16-byte aligned: a header, then tables of tensors, operators and blocks, then constants. Offsets of tables and constants count bytes
 * from the start of the program; 0 means none. docs/program-format.md draws the records, and says what each kind of operator computes. */
#ifndef TMO_PROGRAM_H_
#define TMO_PROGRAM_H_

#include <stdint.h>

#include "tmo/kinds.def"

#define TMO_MAGIC 0x314F4D54u /* The first four bytes of a program: "TMO1". */
#define TMO_VERSION 2
#define TMO_NONE 0xFFFFu /* Entry of an access' table: the firing reads no row. */
#define TMO_MAX_INPUTS 4 /* Operands that an operator reads row by row. */
#define TMO_MAX_IO 16 /* Inputs and outputs of a program, together. */
#define TMO_MAX_KERNEL_H 64 /* Rows that are read at once, of all operands together. */
#define TMO_MAX_TAPS 64 /* Pixels of a window that is read at once, in a tiled block. */
#define TMO_MAX_EXTENT 1073741824u /* Extent of a window, and of all strips, so that coordinates fit int32. */
#define TMO_MAX_POOL_AREA 8388608u /* Pixels of a pooling window, so that its sums fit int32. */
#define TMO_MAX_SOFTMAX_CHANNELS 4095 /* Channels of SOFTMAX, so that the sum of their exponentials is below 2^31. */
#define TMO_MAX_ADD_SHIFT 22 /* Left shift of ADD's operands, so that 9 bits stay inside int32. */
#define TMO_MAX_SHIFT 30 /* Left shift of an int32 sum that is rescaled. */
#define TMO_MAX_S16_SHIFT 7 /* Left shift of an int64 sum that is rescaled, so that 15 - shift bits go. */
#define TMO_MAX_SUM_BYTES 4 /* Bytes of a sum of SUMS and ADD_SUMS. */
#define TMO_INDEX_BYTES 4 /* Bytes of an int32 index, which is a pixel of as many channels. */
#define TMO_TABLE_BYTES 256 /* Bytes of LOOKUP's table: one for each int8. */
#define TMO_CURVE_WORDS 128 /* 32-bit words of LSTM's curve: uint16_t[256]. */
#define TMO_LSTM_SCALES 12 /* Multipliers, and shifts, of LSTM. */
#define TMO_PROGRAM_BASE 255 /* Base of a constant tensor: the program itself. */
#define TMO_LINK_BASE 254 /* Base of a tensor whose rows go to another device, or come from one. */
#define TMO_LOOP_DEPTH 4 /* Loops inside one another. */
#define TMO_PACKED_PIXELS 4 /* Output pixels that a packed convolution computes at once. */
#define TMO_PACKED_TILE 2304 /* int16 values of the pixels that it computes at once. */
#define TMO_MVE_PIXELS 2 /* The same as PACKED_PIXELS, for Helium. */
#define TMO_MVE_TILE 4608 /* Bytes of the pixels that a convolution for Helium, or RISC-V, computes at once. */
#define TMO_PACKED_TAPS 51 /* Taps of a packed depthwise convolution. */
#define TMO_PACKED_SCALES 8 /* int32 values for each pair of channels. */
#define TMO_PACKED_SHIFT 22 /* The greatest right shift of a packed operator. */
#define TMO_ALIGNMENT 16 /* Alignment of a program's first byte. */

/* Cores that run the same packed programs. The values are TMO_TARGET_*. */
enum {
  TMO_TARGET_GENERIC = 0, /* Nothing is packed, so that any core can run the program. */
  TMO_TARGET_DSP = 1, /* Armv7E-M and Armv8-M with the DSP extension. */
  TMO_TARGET_MVE = 2, /* Helium, which also runs programs for DSP. */
  TMO_TARGET_RVV = 3, /* RISC-V with vectors, Zve32x or more. */
};

/* Layout of an operator's constants. The values are TMO_PACKING_*. */
enum {
  TMO_PACKING_NONE = 0,
  TMO_PACKING_DSP_CONV = 1, /* Pairs of output channels for SMLAD, as int16 256 * B + A. */
  TMO_PACKING_DSP_DEPTHWISE = 2, /* Groups of four channels, with all constants in one stream. */
  TMO_PACKING_MVE_CONV = 3, /* Four output channels, 16 values at a time, for VMLADAVA. */
  TMO_PACKING_MVE_DEPTHWISE = 4, /* Sixteen channels at a time, with all constants in one stream. */
  TMO_PACKING_DSP_ADD = 5, /* ADD with its three scalings prepared. */
  TMO_PACKING_DSP_DENSE = 6, /* Three pairs of output channels at once, for a single pixel. */
  TMO_PACKING_RVV_CONV = 7, /* All output channels side by side, for each value that is read. */
  TMO_PACKING_RVV_DEPTHWISE = 8, /* All channels side by side, for each tap. */
};

/* Order of a whole tensor's rows in memory, as a block counts them. A reversed block counts from the last row. */
enum {
  TMO_LAYOUT_HWC = 0, /* Row y is row y in memory. */
  TMO_LAYOUT_ROWS_TURNED = 1, /* Row y is row height - 1 - y in memory. */
  TMO_LAYOUT_PIXELS_TURNED = 2, /* In addition, pixel x is pixel width - 1 - x. Tiled blocks use it, as they find each pixel by itself. */
  TMO_LAYOUT_STATE = 16, /* STATE + i: as HWC, with rows in ring i of the state. */
};

/* Place of input 0. A program whose input is streamed or external reads it by views of base 1. */
enum {
  TMO_INPUT_ARENA = 0, /* Whole in its buffer, as any other input. */
  TMO_INPUT_STREAM = 1, /* It comes a few rows at a time: tmo_push(). */
  TMO_INPUT_EXTERNAL = 2, /* io[0] is a tmo_frame, which says where its pixels are. */
  TMO_INPUT_LINK = 3, /* Whole in its buffer, if there is one; other tensors come from other devices: tmo_run_linked(). */
};

/* Properties of an operator. */
enum {
  TMO_FLAG_ITERATIVE = 1, /* Each firing reads one input row, or tile, into int32 accumulators; the last one writes the output row. */
  TMO_FLAG_PER_CHANNEL = 2, /* A multiplier and a shift for each output channel, instead of one for all. */
  TMO_FLAG_SUMS = 4, /* Adds up channel groups in int32 accumulators, and writes the output in one more pass. */
  TMO_FLAG_SWAPPED = 8, /* The second of two operands comes first in the formula. */
};

/* Codes of a block's loops, each of which fires an operator, or opens or closes a loop. A code n < NEAR fires the block's operator n. Numbers are
 * little-endian. */
enum {
  TMO_LOOP_NEAR = 0xfc,
  TMO_LOOP_FAR = 0xfc, /* uint16_t op: fires it. */
  TMO_LOOP_SKIP = 0xfd, /* uint16_t op, strips: leaves out the rest of its strip and the next strips - 1, then fires it. */
  TMO_LOOP_REPEAT = 0xfe, /* uint16_t times: runs the codes up to the matching END so often, at least once. */
  TMO_LOOP_END = 0xff, /* Ends a loop, or the block. */
};

/* Ways in which two cores share an operator's firings. */
enum {
  TMO_SHARE_FIRST = 0, /* Core 0 makes all of them. */
  TMO_SHARE_SECOND = 1, /* Core 1 makes all of them. */
  TMO_SHARE_COLUMNS = 2, /* Core 0 makes columns [0, cut) of the output row, core 1 the others. */
  /* The same of channels: int8 CONV, and DEPTHWISE with as many channels out as in. Packed ones are cut at a multiple of 4, dense ones of 6. */
  TMO_SHARE_CHANNELS = 3,
};

typedef enum {
#define TMO_ENUMERATOR(name, value, ...) TMO_OP_##name = value,
  TMO_EACH_KIND(TMO_ENUMERATOR)
#undef TMO_ENUMERATOR
} tmo_op_kind;

/* The first bytes of a program. */
typedef struct {
  uint32_t magic;
  uint16_t version;
  uint16_t target; /* TMO_TARGET_*: the cores that run it. */
  uint32_t size; /* Bytes of the whole program. */
  uint32_t firings; /* Firings of one run, exactly: the executor stops there. */
  uint32_t workspace; /* Bytes of the workspace. */
  uint16_t n_inputs, n_outputs, n_tensors, n_ops, n_blocks;
  uint16_t input; /* TMO_INPUT_* */
  uint32_t tensors; /* tmo_tensor[n_tensors] */
  uint32_t ops; /* tmo_op[n_ops] */
  uint32_t blocks; /* tmo_block[n_blocks] */
  uint32_t cores; /* tmo_cores; 0: the program is for one core. */
  uint32_t state; /* Bytes that outlive the run; 0: none. */
  uint32_t rings; /* tmo_ring[], of which the last one has depth 0; 0: the program has no state. */
} tmo_header;

/* A rolling buffer of the state, which outlives a run.
 *
 * The state is io[n_inputs + n_outputs], 4-aligned; setting all its bytes to 0 resets it. It begins with a uint16_t for each ring: 0, or its key +
 * the slot of its oldest row. Row y, counted from the oldest one, is in slot (oldest + y) % depth. A run that finds 0 sets all rows to fill; one that
 * ends well steps on by advance slots. */
typedef struct {
  uint32_t offset; /* Bytes from the state's start to its first slot. */
  uint32_t row; /* Bytes of a slot. */
  union {
    uint16_t depth; /* Slots. */
    uint16_t runs; /* Window: number of runs until it is full. */
  };
  uint16_t advance; /* Rows that are kept in each run. */
  uint8_t fill; /* Byte that all rows consist of after a reset. */
  uint8_t window; /* 1: it has no rows, but counts runs: one that ends before the window is full ends with TMO_WAIT. */
  uint16_t key; /* Drawn from the program, at least 1: a state that another program left is refused. */
} tmo_ring;

/* One view of a tensor: row y is at base + offset + (y % depth) * width * channels, or in lanes. */
typedef struct {
  union {
    uint32_t offset; /* Bytes from the base; not used with lanes. */
    uint32_t constant; /* With TMO_PROGRAM_BASE: the tensor's bytes. */
  };
  uint32_t channels; /* Bytes of a pixel, of all channel groups. */
  uint16_t width;
  uint16_t height; /* Rows of the whole tensor. */
  union {
    uint16_t depth; /* Rows of the rolling buffer; height: the whole tensor. */
    uint16_t phase; /* With lanes: -end mod advance. */
  };
  uint8_t base; /* 0: workspace; 1..n_inputs: inputs; then the outputs; then the state; TMO_PROGRAM_BASE; TMO_LINK_BASE. */
  uint8_t layout; /* TMO_LAYOUT_*; of a rolling buffer and of lanes, HWC. */
  uint32_t lanes; /* tmo_lane[n_lanes], the first of which has a strip's first rows; 0: none. */
  uint16_t n_lanes;
  uint16_t advance; /* In a tiled block: rows from strip to strip. */
  int16_t end; /* In a tiled block: rows after the first strip, before clamping. */
  union {
    uint16_t rows; /* In a tiled block: rows of a strip. With advance of them each is made once; with more, some are made again. */
    uint16_t pushed; /* In a streamed input: rows that come at once. Its depth older ones are at offset in the workspace. */
    uint16_t older; /* With rows in a ring of the state: rows before row 0. */
  };
} tmo_tensor;

/* A lane: consecutive rows of each strip, in a rolling buffer of pixels. */
typedef struct {
  uint32_t offset; /* Bytes from the tensor's base. */
  uint32_t depth; /* Pixels of the rolling buffer. */
  uint16_t rows; /* Rows of each strip. */
} tmo_lane;

/* Rows of one operand that firing y reads without a window: [first, first + extent), clipped to the operand. first = floor((y * mul + add) / div), or
 * table[y]. */
typedef struct {
  int32_t add;
  uint16_t mul, div, extent;
  uint32_t table; /* uint16_t[height of the output], TMO_NONE for firings that read no row; 0: none. */
} tmo_access;

/* A tensor that one device sends to another. */
typedef struct {
  uint32_t identity; /* Equal in the programs that belong together, and in no others. */
  uint16_t step; /* Number of the tensor among all that cross. */
  uint8_t from, to;
} tmo_crossing;

/* The way in which COPY makes an output row. n_moves records of tmo_move follow. */
typedef struct {
  uint16_t n_moves;
  uint8_t fills; /* The row is filled before anything is moved. */
  int8_t fill;
} tmo_copy;

/* count runs of bytes bytes. Run i goes to byte target + i * target_step of output row y, from byte source + (y + shift) % period * phase_step + i *
 * source_step of an input row. */
typedef struct {
  uint16_t row; /* Among those that are read, operand 0's first. Nothing is moved where the operand has no such row. */
  uint16_t count;
  uint32_t bytes, source;
  int32_t source_step, phase_step;
  uint32_t target, target_step;
  uint16_t period, shift;
} tmo_move;

/* One operator. Its kind determines the content of its arrays (docs/program-format.md). */
typedef struct {
  uint8_t kind; /* tmo_op_kind */
  uint8_t flags; /* TMO_FLAG_* */
  int8_t input_zero_point[4], output_zero_point;
  int8_t act_min; /* Least and greatest output. */
  int8_t act_max; /* Least and greatest output. */
  uint8_t n_inputs;
  uint16_t input[4]; /* Indices of tensors. */
  uint16_t output; /* Index of a tensor. */
  uint16_t tile; /* Columns of a firing in a tiled block, else 0. */
  uint16_t kernel_h, kernel_w;
  union {
    uint16_t stride_h;
    uint16_t scale_h; /* RESIZE_BILINEAR: height_scale_10, in 1/1024 of a row. */
    uint16_t new_rows; /* SLIDING_SUM: rows that are new in each run. */
  };
  union {
    uint16_t stride_w;
    uint16_t scale_w; /* RESIZE_BILINEAR: width_scale_10, in 1/1024 of a pixel. */
  };
  uint16_t dilation_h, dilation_w, pad_top, pad_left;
  uint16_t packing; /* TMO_PACKING_* */
  union {
    int32_t left_shift; /* ADD, SUB, SQUARED_DIFFERENCE: left shift of both operands. */
    int32_t smallest; /* MAX_POOL, ARG_MAX: 1: of the smallest, instead of the greatest. */
    int32_t least_difference; /* SOFTMAX, LOG_SOFTMAX: differences from the greatest channel that are below it count as 0. */
    int32_t sum_bytes; /* SUMS: bytes of a sum. */
    int32_t operand_bytes; /* ADD_SUMS: bytes of a sum: of operand k in bits [4k, 4k + 4), of the output in [16, 20). */
    int32_t range_s16; /* int16 sums: 65536 * greatest output + (least mod 65536). */
    int32_t cell_range; /* LSTM: the same of cells. */
    int32_t table_rows; /* GATHER: rows of the table. */
    int32_t half_pixel_centers; /* RESIZE_BILINEAR: 0 or 1. */
    int32_t transposed; /* BATCH_MATMUL: 1: operand 1 is [out][depth], 0: [depth][out]. */
    int32_t tangent; /* CURVE_S16: 1: a hyperbolic tangent, 0: a sigmoid. */
    int32_t scale_bits; /* QUANTIZE, QUANTIZE_S16, DEQUANTIZE, DEQUANTIZE_S16: the bits of the float32 scale. */
    int32_t identity; /* OWN: identity of the application's kernel. */
  };
  union {
    uint32_t weights; /* Weights: int8_t[]. */
    uint32_t table; /* LOOKUP: int8_t[TMO_TABLE_BYTES]. GATHER: int8_t[table_rows][channels]. */
    uint32_t crossing; /* SEND, RECEIVE: a tmo_crossing. */
    uint32_t copy; /* COPY: a tmo_copy. */
  };
  union {
    uint32_t bias; /* int32_t[channels], or none. int16: int64_t[channels / 2], 4-aligned. */
    uint32_t curve; /* LSTM: uint16_t[256], then int32_t[channels][8] biases. */
    uint32_t scales; /* Packed: biases and scales as the packing has them, where they are not among the weights. */
  };
  uint32_t multipliers; /* int32_t[]; ADD and the like: in the order of the inputs, then the output's. */
  uint32_t shifts; /* int8_t[]; positive is left. */
  union {
    /* 4-aligned bytes from the workspace's start: int32_t[width * channels] when iterative, as many for each row of the highest strip when it sums up
     * groups. */
    uint32_t accumulator;
    uint32_t scratch; /* Packed: 4-aligned bytes from the workspace's start. */
  };
  uint16_t groups; /* Channel groups of a tiled block; 0 or 1: none. */
  uint16_t group_channels; /* Channels of each group; the last one may have fewer. */
  uint32_t access; /* tmo_access[n_inputs]; none: the operands are read by the window. */
} tmo_op;

/* Operators [first_op, first_op + n_ops), whose iterations are interleaved as the block's loops say. */
typedef struct {
  uint16_t first_op, n_ops;
  uint32_t counters; /* 2-aligned bytes from the workspace's start: the next units, uint16_t[n_ops], in a tiled block tmo_unit[n_ops]. */
  uint16_t strips; /* 0: row block. */
  uint32_t loops; /* Codes: TMO_LOOP_*. */
} tmo_block;

/* The next unit of an operator of a tiled block. */
typedef struct {
  uint16_t strip, group, tile, row;
} tmo_unit;

/* Shares of two cores in an operator's firings. */
typedef struct {
  uint16_t how; /* TMO_SHARE_* */
  uint16_t cut; /* Columns, or channels, of core 0. */
  union {
    uint32_t accumulator; /* tmo_op.accumulator as core 1 has it. */
    uint32_t scratch; /* tmo_op.scratch as core 1 has it. */
  };
} tmo_share;

/* Shares of two cores in a run. Both go through all firings, each with counters of its own, and make their share of each. They meet before some;
 * between two meetings neither reads what the other writes, nor writes what it reads, which the converter's checker proves. Row blocks only; input 0
 * is in the arena, and nothing outlives the run. */
typedef struct {
  uint32_t shares; /* tmo_share[n_ops] */
  uint32_t meetings; /* A bit for each firing of the run, bit i % 8 of byte i / 8 for firing i: whether the cores meet before it. */
  uint32_t n_meetings; /* Bits of meetings that are set. */
  uint32_t alone; /* As many bits: core 0 makes all of firing i, whatever its operator's share; 0: none. */
  uint32_t counters; /* Bytes from core 0's counters to those of core 1. */
} tmo_cores;

#endif /* TMO_PROGRAM_H_ */
