/* SPDX-License-Identifier: Apache-2.0 */
/* The program, which the converter writes and tmo_run() executes in place, from flash. Written by scripts/program_format.py.
 *
 * Little-endian, 16-byte aligned: a header, then tables of tensors, operators and groups, then constants. Offsets of tables and constants count bytes
 * from the start of the program; 0 means none. docs/program-format.md draws the records, and says what each kind of operator computes. */
#ifndef TMO_PROGRAM_H_
#define TMO_PROGRAM_H_

#include <stdint.h>

#include "tmo/kinds.def"

#define TMO_MAGIC 0x314F4D54u /* The first four bytes of a program, which are "TMO1". */
#define TMO_VERSION 3
#define TMO_NONE 0xFFFFu /* Table entry for an iteration that reads no row of the operand. */
#define TMO_MAX_INPUTS 4 /* Maximum number of operands that an operator reads row by row. */
#define TMO_MAX_IO 16 /* Maximum number of inputs and outputs of a program together. */
#define TMO_MAX_KERNEL_H 64 /* Maximum number of rows that an iteration reads of all operands together. */
#define TMO_MAX_TAPS 64 /* Maximum number of pixels of a window in a tiled group. */
#define TMO_MAX_EXTENT 1073741824u /* Maximum extent of a window and of all stripes together, so that coordinates fit int32. */
#define TMO_MAX_POOL_AREA 8388608u /* Maximum number of pixels of a pooling window, so that its sums fit int32. */
#define TMO_MAX_SOFTMAX_CHANNELS 4095 /* Maximum number of channels of SOFTMAX, so that the sum of the exponentials is below 2^31. */
#define TMO_MAX_ADD_SHIFT 22 /* Maximum left shift of ADD's operands, so that shifted values of 9 bits fit int32. */
#define TMO_MAX_SHIFT 30 /* Maximum left shift of a rescaled int32 sum. */
#define TMO_MAX_S16_SHIFT 7 /* Maximum left shift of a rescaled int64 sum, which loses 15 - shift bits. */
#define TMO_MAX_SUM_BYTES 4 /* Maximum size of a sum of SUMS and ADD_SUMS, in bytes. */
#define TMO_INDEX_BYTES 4 /* Bytes of an int32 index, which is stored as a pixel with this many one-byte channels. */
#define TMO_TABLE_BYTES 256 /* Bytes of LOOKUP's table, which has one byte for each int8 value. */
#define TMO_CURVE_WORDS 128 /* Number of 32-bit words of the curve of an LSTM, which is a uint16_t[256]. */
#define TMO_LSTM_SCALES 12 /* Number of multipliers of an LSTM, and of its shifts. */
#define TMO_PROGRAM_BASE 255 /* Value of tmo_tensor.base for a constant tensor in the program. */
#define TMO_LINK_BASE 254 /* Value of tmo_tensor.base for a tensor whose rows are sent to another device or received from one. */
#define TMO_LOOP_DEPTH 4 /* Maximum nesting depth of loops. */
#define TMO_PACKED_PIXELS 4 /* Maximum number of output pixels that a packed convolution computes at once. */
#define TMO_FIVE_PIXELS 5 /* Number of last output pixels of a row that TMO_PACKING_DSP_CONV may compute at once. */
/* Maximum number of values per pixel if TMO_PACKING_DSP_CONV computes the last pixels of a row at once, so that caches hold the weights of a pair of
 * channels. */
#define TMO_FIVE_VALUES 96
#define TMO_PACKED_TILE 2304 /* Maximum number of int16 inputs of all pixels that a packed convolution computes at once. */
#define TMO_MVE_PIXELS 2 /* Maximum number of output pixels that a packed convolution for Helium computes at once. */
#define TMO_MVE_TILE 4608 /* Maximum number of input bytes of the pixels that a convolution for Helium, RISC-V or ESP-NN computes at once. */
#define TMO_ESP_TILE 2048 /* Maximum scratch of a depthwise convolution in ESP-NN, in bytes, if a call computes more than one pixel. */
#define TMO_PACKED_TAPS 51 /* Maximum number of taps of a packed depthwise convolution. */
#define TMO_PACKED_SCALES 8 /* Number of int32 values for each pair of channels of a packed convolution. */
#define TMO_PACKED_SHIFT 22 /* Maximum right shift of a packed operator. */
#define TMO_SHORT_ROW 16 /* Maximum number of bytes of a window row, in whole words, that TMO_PACKING_DSP_CONV gathers with its padding. */
#define TMO_BLOCK_PIXELS 6 /* Number of adjacent output pixels that TMO_PACKING_DSP_DEPTHWISE computes at once from 3x3 taps. */
#define TMO_GATHERED_BYTES 200 /* Maximum number of bytes of a window that CONV gathers on cores with the DSP extension. */
#define TMO_GATHERED_ROWS_BYTES 144 /* Maximum number of bytes of a window in whole rows that CONV gathers on cores with the DSP extension. */
#define TMO_FEW_BYTES 80 /* Maximum number of bytes of a window that CONV gathers on all cores, for any number of output channels. */
#define TMO_SOME_CHANNELS 8 /* Minimum number of output channels for which CONV gathers larger windows. */
#define TMO_MANY_CHANNELS 16 /* Minimum number of output channels for which CONV gathers larger windows in whole rows. */
#define TMO_ALIGNMENT 16 /* Alignment of a program's first byte. */

/* Families of cores that run the same packed programs, with the values of TMO_TARGET_* in C. */
enum {
  TMO_TARGET_GENERIC = 0, /* Any core: no operator is packed. */
  TMO_TARGET_DSP = 1, /* Armv7E-M and Armv8-M with the DSP extension. */
  TMO_TARGET_MVE = 2, /* Helium, which also runs programs that are packed for DSP. */
  TMO_TARGET_RVV = 3, /* RISC-V with vectors, Zve32x or more. */
  TMO_TARGET_ESP = 4, /* Espressif's chips, with ESP-NN's vector kernels on ESP32-S3 and P4. */
};

/* Layouts of an operator's constants, with the values of TMO_PACKING_* in C. */
enum {
  TMO_PACKING_NONE = 0,
  TMO_PACKING_DSP_CONV = 1, /* Pairs of output channels for SMLAD, as int16 256 * B + A. */
  TMO_PACKING_DSP_DEPTHWISE = 2, /* Groups of four channels, with all constants in one stream. */
  TMO_PACKING_MVE_CONV = 3, /* Four output channels, 16 values at a time, for VMLADAVA. */
  TMO_PACKING_MVE_DEPTHWISE = 4, /* Sixteen channels at a time, with all constants in one stream. */
  TMO_PACKING_DSP_ADD = 5, /* ADD whose three scales are prepared for the kernel. */
  TMO_PACKING_DSP_DENSE = 6, /* Three pairs of output channels at once, for a layer with a single pixel. */
  TMO_PACKING_RVV_CONV = 7, /* For each input value, the weights of all output channels are adjacent. */
  TMO_PACKING_RVV_DEPTHWISE = 8, /* For each tap, the weights of all channels are adjacent. */
  TMO_PACKING_ESP_CONV = 9, /* The weights of an output channel, padded to a multiple of 16, for a dot product of ESP-NN. */
  TMO_PACKING_ESP_DEPTHWISE = 10, /* For each tap, the weights of all channels are adjacent, in the form that ESP-NN reads. */
};

/* Order of a tensor's rows in memory. A reversed group counts rows from the last row. */
enum {
  TMO_LAYOUT_HWC = 0, /* Row y is stored as row y. */
  TMO_LAYOUT_ROWS_REVERSED = 1, /* Row y is stored as row height - 1 - y. */
  TMO_LAYOUT_PIXELS_REVERSED = 2, /* Rows are reversed, and pixel x is stored as pixel width - 1 - x, which only tiled groups do. */
  TMO_LAYOUT_STATE = 16, /* TMO_LAYOUT_STATE + i is like HWC, with the rows in rolling buffer i of the state. */
};

/* Location of a program's input 0. Tensors with base 1 then read a streamed or external input. */
enum {
  TMO_INPUT_ARENA = 0, /* Input 0 is whole in its buffer, like the other inputs. */
  TMO_INPUT_STREAM = 1, /* Input 0 is streamed a few rows at a time with tmo_push(). */
  TMO_INPUT_EXTERNAL = 2, /* Input 0 is external: io[0] is a tmo_source that points to the pixels. */
  TMO_INPUT_LINK = 3, /* Input 0 is whole in its buffer, if it has one. tmo_run_linked() also receives tensors from other devices. */
};

/* Properties of an operator. */
enum {
  TMO_FLAG_ITERATIVE = 1, /* Each iteration adds one input row or tile to int32 accumulators, and the last iteration writes the output row. */
  TMO_FLAG_PER_CHANNEL = 2, /* Each output channel has its own multiplier and shift. */
  TMO_FLAG_SUMS = 4, /* Channel groups are summed in int32 accumulators, and an additional pass writes the output. */
  TMO_FLAG_SWAPPED = 8, /* In the operator's formula, the second of two operands is the left one. */
  TMO_FLAG_NIBBLES = 16, /* Weights of CONV and DEPTHWISE have four bits each, of which the first of two is in a byte's lower half. */
  TMO_FLAG_COPIES = 32, /* Weights of CONV are copied into the workspace when the group begins. */
};

/* Codes of a group's loops. Each loop code runs an operator, or opens or closes a loop. A loop code n < NEAR runs operator n of the group. Numbers in
 * loop codes are little-endian. */
enum {
  TMO_LOOP_NEAR = 0xfc,
  TMO_LOOP_FAR = 0xfc, /* Run an operator. The operator's number follows the code as uint16_t op. */
  TMO_LOOP_SKIP = 0xfd, /* Skip the current stripe of the operator and stripes - 1 more, then run it. uint16_t op and stripes follow. */
  TMO_LOOP_REPEAT = 0xfe, /* Run the codes up to the matching END, at least once: uint16_t times follows. */
  TMO_LOOP_END = 0xff, /* End a loop, or the group. */
};

/* Ways to share an operator's iterations between two cores. */
enum {
  TMO_SHARDING_CORE_0 = 0, /* Core 0 computes all iterations. */
  TMO_SHARDING_CORE_1 = 1, /* Core 1 computes all iterations. */
  TMO_SHARDING_COLUMNS = 2, /* Core 0 computes columns [0, cut) of the output row, and core 1 all other columns. */
  /* Core 0 computes channels [0, cut), and core 1 all other channels. Channels can be shared if the operator is an int8 CONV, or a DEPTHWISE with
   * equally many input and output channels. Packed operators are split at a multiple of 4 channels, dense ones at a multiple of 6. */
  TMO_SHARDING_CHANNELS = 3,
};

/* Limits of the output of float32 operators, in bits 0 to 3 of float_form. */
enum {
  TMO_RANGE_FINITE = 0, /* From the lowest to the highest finite value, as TFLM's fused activation NONE. No range changes a NaN. */
  TMO_RANGE_RELU = 1, /* From 0 to the highest finite value. */
  TMO_RANGE_RELU_N1_TO_1 = 2,
  TMO_RANGE_RELU6 = 3,
  TMO_RANGE_ALL = 4, /* No limits. */
  TMO_RANGE_POSITIVE = 5, /* From 0 to infinity. */
};

/* Function of a float32 operator, in bits 4 and above of float_form. ARITHMETIC_F32 has ADD to LEAKY_RELU, CURVE_F32 has LOGISTIC to TO_INTEGER,
 * BINARY_32 has DIV to MINIMUM_S32, and COMPARE_32 has EQUAL to LESS_EQUAL_S32. Functions whose names end in _S32 take int32 operands. */
enum {
  TMO_FUNCTION_ADD = 0,
  TMO_FUNCTION_SUB = 1,
  TMO_FUNCTION_MUL = 2,
  TMO_FUNCTION_MAXIMUM = 3,
  TMO_FUNCTION_MINIMUM = 4,
  TMO_FUNCTION_SQUARED_DIFFERENCE = 5,
  TMO_FUNCTION_PRELU = 6,
  TMO_FUNCTION_LEAKY_RELU = 7, /* Operand 1 of LEAKY_RELU is alpha. */
  TMO_FUNCTION_LOGISTIC = 8,
  TMO_FUNCTION_TANH = 9,
  TMO_FUNCTION_ELU = 10,
  TMO_FUNCTION_HARD_SWISH = 11,
  TMO_FUNCTION_ABS = 12,
  TMO_FUNCTION_NEG = 13,
  TMO_FUNCTION_SQUARE = 14,
  TMO_FUNCTION_SQRT = 15,
  TMO_FUNCTION_RSQRT = 16,
  TMO_FUNCTION_EXP = 17,
  TMO_FUNCTION_LOG = 18,
  TMO_FUNCTION_FLOOR = 19,
  TMO_FUNCTION_CEIL = 20,
  TMO_FUNCTION_ROUND = 21,
  TMO_FUNCTION_TO_FLOAT = 22, /* From int32. */
  TMO_FUNCTION_TO_INTEGER = 23, /* To int32. */
  TMO_FUNCTION_DIV = 24,
  TMO_FUNCTION_FLOOR_DIV = 25,
  TMO_FUNCTION_FLOOR_MOD = 26,
  TMO_FUNCTION_ADD_S32 = 27,
  TMO_FUNCTION_SUB_S32 = 28,
  TMO_FUNCTION_MUL_S32 = 29,
  TMO_FUNCTION_MAXIMUM_S32 = 30,
  TMO_FUNCTION_MINIMUM_S32 = 31,
  TMO_FUNCTION_EQUAL = 32,
  TMO_FUNCTION_NOT_EQUAL = 33,
  TMO_FUNCTION_LESS = 34,
  TMO_FUNCTION_LESS_EQUAL = 35,
  TMO_FUNCTION_EQUAL_S32 = 36,
  TMO_FUNCTION_NOT_EQUAL_S32 = 37,
  TMO_FUNCTION_LESS_S32 = 38,
  TMO_FUNCTION_LESS_EQUAL_S32 = 39,
};

/* Methods by which RESIZE_BILINEAR_F32 maps an output coordinate to the input. */
enum {
  TMO_RESIZE_PLAIN = 0,
  TMO_RESIZE_CENTERS = 1, /* half_pixel_centers */
  TMO_RESIZE_CORNERS = 2, /* align_corners */
};

/* Bits that determine how SELECT reads an operand, after the number of the operand's row in bits 0 and 1. */
enum {
  TMO_SELECT_ONE_COLUMN = 4, /* The only column of the operand is repeated. */
  TMO_SELECT_ONE_CHANNEL = 8, /* The only channel of the operand is repeated. */
};

/* Optional parts of the library, numbered by their bits in parts. lower/parts.py determines the parts that a program needs. Parts named DSP_* are
 * packed kernels for the DSP extension. */
enum {
  TMO_PART_TILES = 0, /* Tiled groups. */
  TMO_PART_CHANNEL_GROUPS = 1,
  TMO_PART_ITERATIVE = 2, /* TMO_FLAG_ITERATIVE. */
  TMO_PART_STREAM = 3, /* TMO_INPUT_STREAM. */
  TMO_PART_EXTERNAL = 4, /* TMO_INPUT_EXTERNAL. */
  TMO_PART_REVERSED = 5, /* Layouts of tensors other than TMO_LAYOUT_HWC. */
  TMO_PART_TAPS = 6, /* Depthwise convolutions for Helium that tmo_mve_has_nine() does not cover. */
  TMO_PART_STATE = 7, /* A state, which holds rows that outlive a run. */
  TMO_PART_LINK = 8, /* TMO_INPUT_LINK. */
  TMO_PART_NIBBLES = 9, /* TMO_FLAG_NIBBLES. */
  TMO_PART_PIXELS = 10, /* Faster execution of iterations of a single pixel, in place of general code. */
  TMO_PART_CONV_SUMS = 11, /* CONV with windows that the DSP extension neither reads in place nor gathers. Cores without it have this code. */
  TMO_PART_CONV_STEPS = 12, /* CONV with windows of scattered bytes that the DSP extension neither reads in place nor gathers. */
  TMO_PART_DEPTHWISE_SUMS = 13, /* DEPTHWISE that needs more than one pass on the DSP extension. Cores without it always have this code. */
  TMO_PART_DEPTHWISE_REPEATED = 14, /* DEPTHWISE with several output channels for each input channel. */
  TMO_PART_DSP_PAIRS_1 = 15, /* Convolutions that compute one pixel at a time. */
  TMO_PART_DSP_PAIRS_2 = 16,
  TMO_PART_DSP_PAIRS_3 = 17,
  TMO_PART_DSP_PAIRS_4 = 18,
  TMO_PART_DSP_DIRECT = 19, /* Convolutions of a single pixel that is read in place. */
  TMO_PART_DSP_CLIPPED = 20, /* Convolutions of four windows, some of which extend beyond the input. */
  TMO_PART_DSP_GATHER = 21, /* Convolutions with long window rows that extend beyond the input, or in tiled groups. */
  TMO_PART_DSP_3X3 = 22, /* Depthwise rows with blocks of 3x3 taps. */
  TMO_PART_DSP_NINE = 23, /* Depthwise rows with nine taps in shapes other than 3x3. */
  TMO_PART_DSP_TAPS = 24, /* All depthwise convolutions that no other part covers. */
  TMO_PART_COPIES = 25, /* TMO_FLAG_COPIES. */
  TMO_PART_DSP_PAIRS_5 = 26,
  TMO_PART_AT_ONCE = 27, /* Consecutive iterations of one pixel each that a kernel computes at once. */
  TMO_PART_TWO_ROWS = 28, /* Two consecutive rows that a kernel computes at once. */
  TMO_PART_FEW_PIXELS = 29, /* Faster execution of tiles of several pixels on the DSP extension, in place of general code. */
};

typedef enum {
#define TMO_ENUMERATOR(with, name, value, ...) TMO_OP_##name = value,
  TMO_EACH_KIND(TMO_ENUMERATOR, )
#undef TMO_ENUMERATOR
} tmo_op_kind;

/* The first bytes of a program. */
typedef struct {
  uint32_t magic;
  uint16_t version;
  uint16_t target; /* Family of cores that the program is for, as TMO_TARGET_*. */
  uint32_t size; /* Bytes of the whole program. */
  uint32_t iterations; /* Exact number of iterations of a run of the program, after which the executor stops. */
  uint32_t workspace; /* Bytes of the workspace. */
  uint16_t n_inputs, n_outputs, n_tensors, n_ops, n_groups;
  uint8_t input; /* Place of input 0, as TMO_INPUT_*. */
  uint8_t pools; /* Number of tmo_pool records after the header: 0 or 1. */
  uint32_t tensors; /* tmo_tensor[n_tensors] */
  uint32_t ops; /* tmo_op[n_ops] */
  uint32_t groups; /* tmo_group[n_groups] */
  uint32_t cores; /* Offset of a tmo_cores, or 0 if the program is for one core. */
  uint32_t state; /* Bytes of the state, which outlives a run, or 0 if the program has no state. */
  uint32_t rolling_buffers; /* Offset of a tmo_rolling_buffer[] that ends with a buffer of depth 0, or 0 if the program has no state. */
  uint32_t parts; /* A bit for each TMO_PART_* that the program needs. */
} tmo_header;

/* A memory besides the workspace for whole tensors, which follows the state in io and has at least bytes. */
typedef struct {
  uint32_t bytes;
} tmo_pool;

/* A rolling buffer of the state, which outlives a run.
 *
 * The state is io[n_inputs + n_outputs], 4-aligned, and setting all its bytes to 0 resets it. The state begins with a uint16_t for each rolling
 * buffer: 0, or the buffer's key + the slot of the oldest row. Row y, counted from the oldest row, is in slot (oldest + y) % depth. A run that finds
 * 0 in a buffer's uint16_t sets all its rows to fill. A successful run advances the slot of the oldest row by advance. */
typedef struct {
  uint32_t offset; /* Offset from the state's start to the buffer's first slot in bytes. */
  uint32_t row; /* Bytes of a slot of the rolling buffer. */
  union {
    uint16_t depth; /* Number of slots of the rolling buffer. */
    uint16_t runs; /* Window: number of runs until it is full. */
  };
  uint16_t advance; /* Number of rows that each run keeps. */
  uint8_t fill; /* Value of all bytes of the rolling buffer after a reset. */
  uint8_t window; /* 1 for a counter of runs, which has no rows. A run that ends before the window is full returns TMO_WAIT. */
  uint16_t key; /* A number of at least 1, derived from the program, so that the state of another program is rejected. */
} tmo_rolling_buffer;

/* A view of a tensor: row y is at base + offset + (y % depth) * width * channels, or in column windows. */
typedef struct {
  union {
    uint32_t offset; /* Offset of the tensor from its base in bytes; unused with column windows. */
    uint32_t constant; /* For a tensor with TMO_PROGRAM_BASE, its size in bytes. */
  };
  uint32_t channels; /* Bytes of a pixel, including all channel groups. */
  uint16_t width;
  uint16_t height; /* Number of rows of the whole tensor. */
  union {
    uint16_t depth; /* Number of rows of the rolling buffer, which equals height for a whole tensor. */
    uint16_t phase; /* With column windows: -end mod advance. */
  };
  uint8_t base; /* Place: 0 workspace; 1 to n_inputs inputs; then outputs, state, slow memory; TMO_PROGRAM_BASE; TMO_LINK_BASE. */
  uint8_t layout; /* Order of the tensor's rows in memory, as TMO_LAYOUT_*; always HWC for rolling buffers and column windows. */
  uint32_t column_windows; /* Offset of tmo_column_window[n_column_windows], beginning with the first rows of a stripe, or 0 without them. */
  uint16_t n_column_windows;
  uint16_t advance; /* In a tiled group, number of rows from one stripe to the next. */
  int16_t end; /* In a tiled group, number of rows that exist after the first stripe, before clamping. */
  union {
    uint16_t rows; /* In a tiled group, number of rows of a stripe; above advance, stripes compute some rows again. */
    uint16_t pushed; /* Number of rows per push of a streamed input, of which depth older rows are at offset in the workspace. */
    uint16_t older; /* For a tensor in a rolling buffer of the state, number of rows before row 0. */
  };
} tmo_tensor;

/* A column window: consecutive rows of each stripe, in a rolling buffer of pixels. */
typedef struct {
  uint32_t offset; /* Offset from the tensor's base in bytes. */
  uint32_t depth; /* Number of pixels in the rolling buffer. */
  uint16_t rows; /* Number of rows of each stripe in the column window. */
  uint8_t reserved_10[2];
} tmo_column_window;

/* Rows of one operand that iteration y reads, for operators without a window: [first, first + extent), clipped to the operand. first = floor((y * mul
 * + add) / div), or table[y]. */
typedef struct {
  int32_t add;
  uint16_t mul, div, extent;
  uint8_t reserved_10[2];
  uint32_t table; /* A uint16_t for each output row, with TMO_NONE for iterations that read no row; 0 if there is no table. */
} tmo_access;

/* A tensor that one device sends to another. */
typedef struct {
  uint32_t identity; /* Number that all programs of the same split model have, and no others. */
  uint16_t step; /* Number of the tensor among all tensors that devices send. */
  uint8_t from, to;
} tmo_message;

/* The moves that make the output row of a COPY, followed by n_moves records of tmo_move. */
typedef struct {
  uint16_t n_moves;
  uint8_t fills; /* Whether the output row is filled before the moves. */
  int8_t fill;
} tmo_copy;

/* count runs of bytes bytes that a COPY moves. Run i goes to byte target + i * target_step of output row y, from byte source + (y + shift) % period *
 * phase_step + i * source_step of an input row. In an iterative operator, y is the input row, the output has one row, and the term with phase_step is
 * added to the target instead of the source. */
typedef struct {
  uint16_t row; /* Number of the input row among all rows that the iteration reads, operand 0 first; a missing row moves nothing. */
  uint16_t count;
  uint32_t bytes, source;
  int32_t source_step, phase_step;
  uint32_t target, target_step;
  uint16_t period, shift;
} tmo_move;

/* Weights that are copied into the workspace when their group begins, on two cores by core 0. */
typedef struct {
  uint32_t weights; /* Offset of the weights in the program. */
  uint32_t bytes; /* Number of bytes of the weights. */
  uint32_t place; /* Offset of the copied weights in the workspace, a multiple of 16. */
} tmo_copied;

/* One operator. The operator's kind determines the content of its arrays (docs/program-format.md). */
typedef struct {
  uint8_t kind; /* tmo_op_kind */
  uint8_t flags; /* TMO_FLAG_* */
  int8_t input_zero_point[4], output_zero_point;
  int8_t act_min; /* Minimum and maximum of the output's values. */
  int8_t act_max; /* Minimum and maximum of the output's values. */
  uint8_t n_inputs;
  uint16_t input[4]; /* Indices of the operands' tensors. */
  uint16_t output; /* Index of the output's tensor. */
  uint16_t tile; /* Number of columns of an iteration in a tiled group, or 0 for a whole row. */
  uint16_t kernel_h, kernel_w;
  union {
    uint16_t stride_h;
    uint16_t scale_h; /* RESIZE_BILINEAR: height_scale_10, in 1/1024 of a row. */
    uint16_t new_rows; /* SLIDING_SUM: rows that are new in each run. */
    uint16_t rows_in; /* RESIZE_BILINEAR_F32: rows of the input. */
  };
  union {
    uint16_t stride_w;
    uint16_t scale_w; /* RESIZE_BILINEAR: width_scale_10, in 1/1024 of a pixel. */
    uint16_t rows_out; /* RESIZE_BILINEAR_F32: rows of the output. */
  };
  uint16_t dilation_h, dilation_w, pad_top, pad_left;
  uint16_t packing; /* TMO_PACKING_* */
  union {
    int32_t left_shift; /* ADD, SUB, SQUARED_DIFFERENCE: left shift of both operands. */
    int32_t wanted; /* COMPARE: sum of 1, 2 and 4: true if operand 0 is less, equal or greater. */
    int32_t smallest; /* MAX_POOL, ARG_MAX: 1: use the smallest value instead of the greatest. */
    int32_t least_difference; /* SOFTMAX, LOG_SOFTMAX: differences from the greatest channel below this count as 0. */
    int32_t sum_bytes; /* SUMS: bytes of a sum. */
    int32_t operand_bytes; /* ADD_SUMS: sizes of sums in bytes: bits [4k, 4k + 4) for operand k, [16, 20) for the output. */
    int32_t range_s16; /* int16 sums: 65536 * maximum of the output + (minimum mod 65536). */
    int32_t cell_range; /* LSTM: range of the cells, encoded like range_s16. */
    int32_t table_rows; /* GATHER: rows of the table. */
    int32_t half_pixel_centers; /* RESIZE_BILINEAR: 0 or 1. */
    int32_t resize_form; /* RESIZE_BILINEAR_F32: TMO_RESIZE_*. */
    int32_t select_form; /* SELECT: bits [4n, 4n + 4): TMO_SELECT_* of operand n; bits 12 and above: bytes of an element. */
    int32_t transposed; /* BATCH_MATMUL: 1: operand 1 is [out][depth], 0: [depth][out]. */
    int32_t tangent; /* CURVE_S16: 1: hyperbolic tangent, 0: sigmoid. */
    int32_t float_form; /* float32: TMO_RANGE_* + 16 * TMO_FUNCTION_*; both are 0 where they mean nothing. */
    int32_t beta_bits; /* SOFTMAX_F32: bits of the float32 beta. */
    int32_t scale_bits; /* QUANTIZE, QUANTIZE_S16, DEQUANTIZE, DEQUANTIZE_S16: bits of the float32 scale. */
    int32_t identity; /* OWN: identity of the application's kernel. */
    int32_t at_once; /* TMO_PACKING_DSP_*: pixels or rows to compute at once; 1: the scratch holds wide tiles. */
  };
  union {
    uint32_t weights; /* Offset of the weights: int8_t[], or float[] for float32 kinds. */
    uint32_t table; /* LOOKUP: int8_t[TMO_TABLE_BYTES]. GATHER: int8_t[table_rows][channels]. */
    uint32_t message; /* For SEND and RECEIVE, offset of a tmo_message. */
    uint32_t copy; /* For COPY, offset of a tmo_copy. */
    uint32_t copied; /* With TMO_FLAG_COPIES, offset of a tmo_copied. */
  };
  union {
    uint32_t bias; /* Offset of int32_t[channels] (int16: int64_t[channels / 2], float32: float[channels / 4]), or 0 without biases. */
    uint32_t curve; /* LSTM: uint16_t[256], then int32_t[channels][8] biases. */
    uint32_t scales; /* For packed operators, offset of biases and scales in the packing's layout, unless they are among the weights. */
  };
  uint32_t multipliers; /* int32_t[]. ADD and similar kinds have the multipliers of the inputs in order, followed by that of the output. */
  uint32_t shifts; /* int8_t[]. Positive shifts shift left. */
  union {
    /* For an iterative operator, offset of int32_t[width * channels] in the workspace, a multiple of 4. If the operator sums channel groups, the
     * accumulator has as many int32 for each row of the highest stripe. */
    uint32_t accumulator;
    uint32_t scratch; /* Packed: 4-aligned offset in the workspace. */
  };
  uint16_t channel_groups; /* Number of channel groups in a tiled group; 0 or 1 means none. */
  uint16_t group_channels; /* Number of channels of each channel group; the last group may have fewer. */
  uint32_t access; /* Offset of tmo_access[n_inputs], or 0 if a window determines the rows that are read. */
} tmo_op;

/* Operators [first_op, first_op + n_ops), whose iterations the group's loops interleave. */
typedef struct {
  uint16_t first_op, n_ops;
  /* Offset in the workspace, a multiple of 2, of the counters of the operators' next units: uint16_t[n_ops], or tmo_unit[n_ops] in a tiled group. */
  uint32_t counters;
  uint16_t stripes; /* Number of stripes, or 0 for a group that runs row by row. */
  uint8_t reserved_10[2];
  uint32_t loops; /* Offset of the codes of the loops: TMO_LOOP_*. */
} tmo_group;

/* The next unit of an operator in a tiled group. */
typedef struct {
  uint16_t stripe, channel_group, tile, row;
} tmo_unit;

/* The shares of two cores in the iterations of an operator. */
typedef struct {
  uint16_t how; /* How the iterations are shared, as TMO_SHARDING_*. */
  uint16_t cut; /* Number of columns or channels that core 0 computes. */
  union {
    uint32_t accumulator; /* Value of tmo_op.accumulator for core 1. */
    uint32_t scratch; /* tmo_op.scratch for core 1. */
  };
} tmo_share;

/* Shares of two cores in a run. Both cores step through all iterations with their own counters, and each core computes its share of every iteration.
 * The two cores wait for each other at barriers. Between two barriers, neither core accesses bytes that the other one writes, as the converter's
 * checker proves. The program must have only row groups, no state, and input 0 in the arena. */
typedef struct {
  uint32_t shares; /* tmo_share[n_ops] */
  uint32_t barriers; /* A bit for each iteration of the run (bit i % 8 of byte i / 8), set if a barrier precedes the iteration. */
  uint32_t n_barriers; /* Number of barriers. */
  uint32_t alone; /* A bit for each iteration, set if core 0 computes all of it whatever the operator's share, or 0 for none. */
  uint32_t counters; /* Bytes from core 0's counters to core 1's. */
} tmo_cores;

#endif /* TMO_PROGRAM_H_ */
