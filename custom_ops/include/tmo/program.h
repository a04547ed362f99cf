/* SPDX-License-Identifier: Apache-2.0 */
/* This header describes programs, which the converter writes and tmo_run() executes in place. Written by scripts/program_format.py.
 *
 * A program is little-endian and begins at a multiple of 16. A program has a header, then tables of tensors, operators and groups, and then
 * constants. The offset of a table or constant counts bytes from the start of the program. An offset of 0 means that the program does not have the
 * table or constant. docs/program-format.md draws the records and says what each kind of operator computes. */
#ifndef TMO_PROGRAM_H_
#define TMO_PROGRAM_H_

#include <stdint.h>

#include "tmo/kinds.def"

#define TMO_MAGIC 0x314F4D54u /* The first four bytes of a program as a little-endian number: the characters "TMO1". */
#define TMO_VERSION 4
#define TMO_NONE 0xFFFFu /* In a table of input rows, the number 0xFFFF means that an iteration reads no row of the operand. */
#define TMO_MAX_INPUTS 4 /* Maximum number of operands that an operator reads row by row. */
#define TMO_MAX_IO 16 /* Maximum number of inputs and outputs of a program, counted together. */
#define TMO_MAX_KERNEL_H 64 /* Maximum number of rows that an iteration reads from all operands together. */
#define TMO_MAX_TAPS 64 /* Maximum number of pixels under a window in a tiled group. */
#define TMO_MAX_EXTENT 1073741824u /* Maximum height or width of a window. All stripes of a tensor together have fewer than TMO_MAX_EXTENT rows. */
#define TMO_MAX_POOL_AREA 8388608u /* Maximum number of pixels under a pooling window, so that the sum of the pixels fits int32. */
#define TMO_MAX_SOFTMAX_CHANNELS 4095 /* Maximum number of channels of SOFTMAX, so that the sum of the exponentials is below 2^31. */
#define TMO_MAX_PLACES 8388608u /* Maximum number of channels of ARG_MAX. The index of a channel must fit 23 bits. */
/* Maximum number of bits by which an operand of ADD is shifted to the left. A value of 9 bits fits an int32 even after the maximum shift. */
#define TMO_MAX_ADD_SHIFT 22
#define TMO_MAX_SHIFT 30 /* Maximum left shift of an int32 sum in bits. */
/* Maximum shift of an int64 sum. The C library multiplies an int64 sum by a factor, and then shifts the product right by `15 - shift` bits. */
#define TMO_MAX_S16_SHIFT 7
#define TMO_MAX_SUM_BYTES 4 /* Maximum size in bytes of a sum that a SUMS or ADD_SUMS operator writes. */
#define TMO_INDEX_BYTES 4 /* Size of an int32 index in bytes. In a tensor of int32 indices, each byte of an index counts as a channel. */
#define TMO_TABLE_BYTES 256 /* Size of the table of LOOKUP in bytes: one byte for each int8 value. */
#define TMO_CURVE_WORDS 128 /* Size of an LSTM's curve in words of 32 bits. The curve is a uint16_t[256]. */
#define TMO_LSTM_SCALES 12 /* Number of multipliers of an LSTM, which equals the number of shifts of an LSTM. */
#define TMO_PROGRAM_BASE 255 /* Value of tmo_tensor.base for a tensor that is a constant in the program. */
#define TMO_LINK_BASE 254 /* Value of tmo_tensor.base for a tensor whose rows are messages between devices. */
#define TMO_LOOP_DEPTH 4 /* Maximum number of loops that are nested in each other. */
#define TMO_PACKED_PIXELS 4 /* Maximum number of output pixels that a packed convolution computes at once. */
#define TMO_FIVE_PIXELS 5 /* Number of output pixels at the end of a row that TMO_PACKING_DSP_CONV can compute at once. */
/* If a window has at most TMO_FIVE_VALUES values, TMO_PACKING_DSP_CONV computes the last five pixels of a row at once. The weights of two channels
 * for a window of TMO_FIVE_VALUES values fit the cache of the core. */
#define TMO_FIVE_VALUES 96
#define TMO_PACKED_TILE 2304 /* Maximum number of int16 input values that a packed convolution copies to scratch at a time. */
#define TMO_ROOM_FOR_PIXELS 4 /* If a packed convolution computes whole rows with scratch for n pixels, tmo_op.at_once is TMO_ROOM_FOR_PIXELS + n. */
#define TMO_MVE_PIXELS 2 /* Maximum number of output pixels that a packed convolution for Helium computes at once. */
#define TMO_MVE_TILE 4608 /* Maximum number of input bytes that a convolution for Helium, RISC-V or ESP-NN copies to scratch at a time. */
#define TMO_ESP_TILE 2048 /* Maximum scratch in bytes for a call of ESP-NN that computes several pixels of a depthwise convolution. */
#define TMO_PACKED_TAPS 51 /* Maximum number of pixels under the window of a packed depthwise convolution. */
#define TMO_PACKED_SCALES 8 /* Number of int32 values for the biases and scales of two channels of a packed convolution. */
#define TMO_PACKED_SHIFT 22 /* Maximum right shift of a packed operator in bits. */
#define TMO_SHORT_ROW 16 /* Maximum size in bytes of a row that TMO_PACKING_DSP_CONV copies from a window and pads to whole words. */
#define TMO_BLOCK_PIXELS 6 /* Number of adjacent output pixels that TMO_PACKING_DSP_DEPTHWISE computes at once for 3x3 windows. */
#define TMO_GATHERED_BYTES 200 /* Maximum size in bytes of a window that CONV copies into a buffer on cores with the DSP extension. */
/* Maximum size in bytes of a window of whole rows that CONV copies into a buffer on cores with the DSP extension. */
#define TMO_GATHERED_ROWS_BYTES 144
#define TMO_FEW_BYTES 80 /* Maximum size in bytes of a window that CONV copies into a buffer on every core. */
#define TMO_SOME_CHANNELS 8 /* CONV copies windows of more than TMO_FEW_BYTES only if it has at least TMO_SOME_CHANNELS output channels. */
#define TMO_MANY_CHANNELS 16 /* CONV copies large windows of whole rows only if it has at least TMO_MANY_CHANNELS output channels. */
#define TMO_ALIGNMENT 16 /* Alignment of a program's address in bytes. */

/* A family of cores that can run the same packed operators (TMO_TARGET_* in C). */
enum {
  TMO_TARGET_GENERIC = 0, /* All cores can run programs without packed operators. */
  TMO_TARGET_DSP = 1, /* Cores with Armv7E-M, or with Armv8-M and the DSP extension. */
  TMO_TARGET_MVE = 2, /* Cores with Helium, which can run programs of the family DSP as well. */
  TMO_TARGET_RVV = 3, /* RISC-V cores with vectors, Zve32x or more. */
  TMO_TARGET_ESP = 4, /* Espressif's chips, of which only ESP32-S3 and ESP32-P4 run ESP-NN's vector kernels. */
};

/* Layout in which a fast kernel reads its constants (TMO_PACKING_* in C). */
enum {
  TMO_PACKING_NONE = 0,
  /* Two weights A and B of adjacent output channels are stored as the int16 number 256 * B + A, for the instruction SMLAD. */
  TMO_PACKING_DSP_CONV = 1,
  TMO_PACKING_DSP_DEPTHWISE = 2, /* All constants of four channels are adjacent, in the order in which the kernel reads them. */
  TMO_PACKING_MVE_CONV = 3, /* Blocks of 16 weights alternate between four output channels, for the instruction VMLADAVA. */
  TMO_PACKING_MVE_DEPTHWISE = 4, /* All constants of sixteen channels are adjacent, in the order in which the kernel reads them. */
  TMO_PACKING_DSP_ADD = 5, /* The three scales of ADD are stored in the order in which the kernel reads them. */
  TMO_PACKING_DSP_DENSE = 6, /* For a kernel that computes single pixels, the weights of three pairs of output channels alternate. */
  TMO_PACKING_RVV_CONV = 7, /* For each input value, the weights of all output channels are adjacent. */
  TMO_PACKING_RVV_DEPTHWISE = 8, /* For each position in the window, the weights of all channels are adjacent. */
  TMO_PACKING_ESP_CONV = 9, /* The weights of an output channel are padded to a multiple of 16, for a dot product of ESP-NN. */
  TMO_PACKING_ESP_DEPTHWISE = 10, /* For each position in the window, the weights of all channels are adjacent, in the order that ESP-NN reads. */
};

/* Order of a tensor's rows in memory. If a group of operators runs in reverse, row 0 is a tensor's last row. */
enum {
  TMO_LAYOUT_HWC = 0, /* Rows are stored in ascending order. */
  TMO_LAYOUT_ROWS_REVERSED = 1, /* Rows are stored in descending order. */
  TMO_LAYOUT_PIXELS_REVERSED = 2, /* Rows and pixels are stored in descending order. Only tensors of tiled groups have pixels in descending order. */
  TMO_LAYOUT_STATE = 16, /* The layout `TMO_LAYOUT_STATE + i` means that rows are stored in rolling buffer i of the state. */
};

/* Place of a program's input 0. If input 0 is streamed or external, the field `base` of its tensors is 1. */
enum {
  TMO_INPUT_ARENA = 0, /* Input 0 has a buffer in the arena, to which the caller writes the whole input before each run. */
  TMO_INPUT_STREAM = 1, /* Input 0 is streamed a few rows at a time with tmo_push(). */
  TMO_INPUT_EXTERNAL = 2, /* Input 0 is external: io[0] is a tmo_source that points to the pixels. */
  /* A tmo_messenger exchanges rows with other devices. If the program has a buffer for input 0, the buffer holds the whole input. */
  TMO_INPUT_LINK = 3,
};

/* Properties of an operator, which tmo_op.flags combines. */
enum {
  /* Each iteration of the operator adds one input row or tile to int32 accumulators. The last iteration writes the output row. */
  TMO_FLAG_ITERATIVE = 1,
  TMO_FLAG_PER_CHANNEL = 2, /* Each output channel has its own multiplier and shift. */
  /* An iteration adds the products of a channel group to int32 accumulators. After the last channel group, one more pass writes the output. */
  TMO_FLAG_SUMS = 4,
  TMO_FLAG_NIBBLES = 16, /* Weights of CONV and DEPTHWISE have four bits each. The lower four bits of a byte are the first of two weights. */
  TMO_FLAG_COPIES = 32, /* Weights of CONV are copied into the workspace before a group of operators runs. */
};

/* Byte codes for the order in which a group runs its operators. A loop code n below TMO_LOOP_NEAR runs operator n of the group. Numbers after a loop
 * code are little-endian. */
enum {
  TMO_LOOP_NEAR = 0xfc,
  TMO_LOOP_FAR = 0xfc, /* TMO_LOOP_FAR runs the operator whose index follows as a uint16_t. */
  /* TMO_LOOP_SKIP skips stripes of an operator, and then runs the operator. TMO_LOOP_SKIP is followed by the index of the operator and the number of
   * skipped stripes, each as a uint16_t. */
  TMO_LOOP_SKIP = 0xfd,
  /* TMO_LOOP_REPEAT repeats all codes up to the matching TMO_LOOP_END. After TMO_LOOP_REPEAT, two bytes hold the number of repetitions. */
  TMO_LOOP_REPEAT = 0xfe,
  TMO_LOOP_END = 0xff, /* TMO_LOOP_END ends a loop, or ends the loop codes of the group. */
};

/* Division of an operator's iterations between two cores. */
enum {
  TMO_SHARDING_CORE_0 = 0, /* Core 0 computes all iterations. */
  TMO_SHARDING_CORE_1 = 1, /* Core 1 computes all iterations. */
  TMO_SHARDING_COLUMNS = 2, /* Core 0 computes the columns below the field `cut`, and core 1 computes all other columns. */
  /* Core 0 computes the channels below the field `cut`, and core 1 computes all other channels. Two operators can be split by channels: an int8 CONV,
   * and a DEPTHWISE with as many output channels as input channels. Packed operators are split at a multiple of 4 channels. Operators with
   * TMO_PACKING_DSP_DENSE are split at a multiple of 6 channels. */
  TMO_SHARDING_CHANNELS = 3,
};

/* Ranges of the outputs of a float32 operator. Bits 0 to 3 of the field `float_form` hold the range's number. */
enum {
  TMO_RANGE_FINITE = 0, /* Outputs are limited to finite values, like the outputs of TFLM's fused activation NONE. A NaN remains a NaN. */
  TMO_RANGE_RELU = 1, /* RELU limits outputs to values from 0 to the highest finite value. */
  TMO_RANGE_RELU_N1_TO_1 = 2,
  TMO_RANGE_RELU6 = 3,
  TMO_RANGE_ALL = 4, /* The range ALL does not limit outputs. */
  TMO_RANGE_POSITIVE = 5, /* Outputs are limited to values from 0 to infinity. */
};

/* Functions of a float32 operator. Bit 4 and the higher bits of the field `float_form` hold the function's number. ARITHMETIC_F32 has the functions
 * from ADD to LEAKY_RELU, and CURVE_F32 has the functions from LOGISTIC to TO_INTEGER. BINARY_32 has the functions from DIV to MINIMUM_S32, and
 * COMPARE_32 has the functions from EQUAL to LESS_EQUAL_S32. Functions whose names end in _S32 take int32 operands. */
enum {
  TMO_FUNCTION_ADD = 0,
  TMO_FUNCTION_SUB = 1,
  TMO_FUNCTION_MUL = 2,
  TMO_FUNCTION_MAXIMUM = 3,
  TMO_FUNCTION_MINIMUM = 4,
  TMO_FUNCTION_SQUARED_DIFFERENCE = 5,
  TMO_FUNCTION_PRELU = 6,
  TMO_FUNCTION_LEAKY_RELU = 7, /* LEAKY_RELU multiplies negative values by alpha, which is operand 1. */
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
  TMO_FUNCTION_TO_FLOAT = 22, /* TO_FLOAT converts int32 to float32. */
  TMO_FUNCTION_TO_INTEGER = 23, /* TO_INTEGER converts float32 to int32. */
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

/* Rule by which RESIZE_BILINEAR_F32 maps an output coordinate to the input. */
enum {
  TMO_RESIZE_PLAIN = 0,
  TMO_RESIZE_CENTERS = 1, /* The option half_pixel_centers of the resizing operator is set. */
  TMO_RESIZE_CORNERS = 2, /* The option align_corners of the resizing operator is set. */
};

/* The field `select_form` has four bits for each operand of SELECT. The lower two bits are the operand's index in the list of rows that an iteration
 * reads. */
enum {
  TMO_SELECT_ONE_COLUMN = 4, /* The operand has one column, which is repeated. */
  TMO_SELECT_ONE_CHANNEL = 8, /* The operand has one channel, which is repeated. */
};

/* Optional parts of the library. If a program needs part n of the library, bit n of tmo_header.parts is set. The module lower/parts.py determines the
 * parts that a program needs. Parts named DSP_* are packed kernels for the DSP extension. */
enum {
  TMO_PART_TILES = 0, /* TMO_PART_TILES runs tiled groups. */
  TMO_PART_CHANNEL_GROUPS = 1,
  TMO_PART_ITERATIVE = 2, /* TMO_PART_ITERATIVE runs operators with TMO_FLAG_ITERATIVE. */
  TMO_PART_STREAM = 3, /* TMO_PART_STREAM supports programs with the input place TMO_INPUT_STREAM. */
  TMO_PART_EXTERNAL = 4, /* TMO_PART_EXTERNAL supports programs with the input place TMO_INPUT_EXTERNAL. */
  TMO_PART_REVERSED = 5, /* TMO_PART_REVERSED supports tensors whose rows or pixels are stored in reverse. */
  TMO_PART_TAPS = 6, /* TMO_PART_TAPS runs depthwise convolutions for Helium if tmo_mve_has_nine() is false. */
  TMO_PART_STATE = 7, /* TMO_PART_STATE supports a state, which holds rows that outlive a run. */
  TMO_PART_LINK = 8, /* TMO_PART_LINK supports programs with the input place TMO_INPUT_LINK. */
  TMO_PART_NIBBLES = 9, /* TMO_PART_NIBBLES runs operators with TMO_FLAG_NIBBLES. */
  TMO_PART_PIXELS = 10, /* TMO_PART_PIXELS computes single pixels faster than the general code. */
  /* On cores with the DSP extension, TMO_PART_CONV_SUMS computes the windows of CONV that no other part of the library computes. On cores without the
   * DSP extension, the library always contains TMO_PART_CONV_SUMS. */
  TMO_PART_CONV_SUMS = 11,
  TMO_PART_CONV_STEPS = 12, /* With the DSP extension, TMO_PART_CONV_STEPS runs CONV with one input channel if a window's bytes are not adjacent. */
  /* On cores with the DSP extension, TMO_PART_DEPTHWISE_SUMS runs DEPTHWISE in several passes. On cores without the DSP extension, the library always
   * contains TMO_PART_DEPTHWISE_SUMS. */
  TMO_PART_DEPTHWISE_SUMS = 13,
  TMO_PART_DEPTHWISE_REPEATED = 14, /* TMO_PART_DEPTHWISE_REPEATED runs DEPTHWISE with several output channels for each input channel. */
  TMO_PART_DSP_PAIRS_1 = 15, /* TMO_PART_DSP_PAIRS_1 runs convolutions that compute one pixel at a time. */
  TMO_PART_DSP_PAIRS_2 = 16,
  TMO_PART_DSP_PAIRS_3 = 17,
  TMO_PART_DSP_PAIRS_4 = 18,
  /* TMO_PART_DSP_DIRECT computes one pixel of a convolution at a time, and does not copy the input before the computation. */
  TMO_PART_DSP_DIRECT = 19,
  TMO_PART_DSP_CLIPPED = 20, /* TMO_PART_DSP_CLIPPED computes four windows at once if a window extends beyond the input. */
  /* TMO_PART_DSP_GATHER runs convolutions of tiled groups, and convolutions whose windows have long rows and extend beyond the input. */
  TMO_PART_DSP_GATHER = 21,
  TMO_PART_DSP_3X3 = 22, /* TMO_PART_DSP_3X3 runs depthwise convolutions with windows of 3x3 pixels in blocks of six pixels. */
  TMO_PART_DSP_NINE = 23, /* TMO_PART_DSP_NINE runs depthwise convolutions with windows of nine pixels that are not 3x3. */
  TMO_PART_DSP_TAPS = 24, /* TMO_PART_DSP_TAPS runs all depthwise convolutions that no other part runs. */
  TMO_PART_COPIES = 25, /* TMO_PART_COPIES runs operators with TMO_FLAG_COPIES. */
  TMO_PART_DSP_PAIRS_5 = 26,
  TMO_PART_AT_ONCE = 27, /* In one call of a kernel, TMO_PART_AT_ONCE computes several consecutive iterations, each of which has one pixel. */
  TMO_PART_TWO_ROWS = 28, /* With TMO_PART_TWO_ROWS, one call of a kernel computes two consecutive rows. */
  TMO_PART_FEW_PIXELS = 29, /* With the DSP extension, TMO_PART_FEW_PIXELS computes tiles of several pixels faster than the general code. */
  /* With the DSP extension, TMO_PART_WHOLE_POOLS is faster than the general code for pools that have neither TMO_FLAG_ITERATIVE nor TMO_FLAG_SUMS. */
  TMO_PART_WHOLE_POOLS = 30,
  TMO_PART_SEVERAL_ROWS = 31, /* TMO_PART_SEVERAL_ROWS computes several rows of an operator without packed weights faster than the general code. */
  TMO_PART_CLAMPS = 32, /* With the DSP extension or Helium, TMO_PART_CLAMPS runs operators whose output limits are narrower than the int8 range. */
  TMO_PART_DSP_ODD = 33, /* TMO_PART_DSP_ODD runs packed convolutions with an odd number of output channels. */
  TMO_PART_DSP_NARROW = 34, /* TMO_PART_DSP_NARROW runs packed convolutions if a row of a window has less than four bytes. */
  TMO_PART_DSP_SMALL = 35, /* TMO_PART_DSP_SMALL runs packed convolutions and dense layers that compute a single pixel and have few weights. */
  TMO_PART_DSP_TRIPLES = 36, /* TMO_PART_DSP_TRIPLES computes three pairs of channels of a dense layer at once. */
  TMO_PART_SLOW_MEMORY = 37, /* TMO_PART_SLOW_MEMORY supports tensors in slow memory. */
  TMO_PART_CONSTANTS = 38, /* TMO_PART_CONSTANTS supports operands that are constants of the program. */
  TMO_PART_DSP_WIDE = 39, /* TMO_PART_DSP_WIDE runs packed convolutions whose scratch is larger or smaller than usual. */
  TMO_PART_DSP_ONE_SCALE = 40, /* TMO_PART_DSP_ONE_SCALE replaces TMO_PART_DSP_TRIPLES for dense layers whose channels all have the same scale. */
  TMO_PART_DSP_WINDOWS = 41, /* TMO_PART_DSP_WINDOWS runs operators that have the packing TMO_PACKING_DSP_DENSE and windows of several pixels. */
};

typedef enum {
#define TMO_ENUMERATOR(with, name, value, ...) TMO_OP_##name = value,
  TMO_EACH_KIND(TMO_ENUMERATOR, )
#undef TMO_ENUMERATOR
} tmo_op_kind;

/* Header at the start of a program. */
typedef struct {
  uint32_t magic;
  uint16_t version;
  uint16_t target; /* Family of cores that can run the program, a TMO_TARGET_* constant. */
  uint32_t size; /* Size of the whole program in bytes. */
  uint32_t iterations; /* Exact number of iterations of one inference. */
  uint32_t workspace; /* Size of the workspace in bytes. */
  uint16_t n_inputs, n_outputs, n_tensors, n_ops, n_groups;
  uint8_t input; /* Place of input 0, a TMO_INPUT_* constant. */
  uint8_t pools; /* Number of tmo_pool records after the header: 0 or 1. */
  uint32_t tensors; /* tmo_tensor[n_tensors] */
  uint32_t ops; /* tmo_op[n_ops] */
  uint32_t groups; /* tmo_group[n_groups] */
  uint32_t cores; /* Offset of a tmo_cores in the program, or 0 if the program is for one core. */
  uint32_t state; /* Size in bytes of the state (memory that outlives a run), or 0 without a state. */
  /* Offset of a tmo_rolling_buffer[] in the program, or 0 without a state. The last tmo_rolling_buffer of the array has depth 0. */
  uint32_t rolling_buffers;
  uint64_t parts; /* Set of bits: bit n is set if the program needs the part of the library whose TMO_PART_* constant is n. */
} tmo_header;

/* Minimum size of slow memory in bytes, for a program that keeps whole tensors in slow memory. In the array io, the address of slow memory comes
 * after the address of the state. */
typedef struct {
  uint32_t bytes;
} tmo_pool;

/* Rolling buffer in the state, which is the memory that outlives a run.
 *
 * The state is at io[n_inputs + n_outputs], whose address is a multiple of 4. Setting all bytes of the state to 0 resets the state. The state begins
 * with a uint16_t for each rolling buffer: 0, or the buffer's key plus the position of the oldest row. Row `y`, counted from the oldest row, is at
 * position `(oldest + y) % depth` of the rolling buffer. If the uint16_t of a rolling buffer is 0, the next run first sets all bytes of the rolling
 * buffer to `fill`. A successful run advances the position of the oldest row in each rolling buffer. */
typedef struct {
  uint32_t offset; /* Number of bytes between the start of the state and the buffer. */
  uint32_t row; /* Number of bytes of a row in the rolling buffer. */
  union {
    uint16_t depth; /* Number of rows for which the rolling buffer has room. */
    uint16_t runs; /* Number of inferences after which a sliding window is full. */
  };
  uint16_t advance; /* Number of rows by which each run moves the position of the oldest row. */
  uint8_t fill; /* Value of all bytes of the rolling buffer after a reset. */
  /* 1 if the record counts the inferences of a sliding window instead of describing rows, and otherwise 0. A run that ends before the sliding window
   * is full returns TMO_WAIT. */
  uint8_t window;
  uint16_t key; /* Number that identifies the program, and that is not 0. A run rejects a state that another program has written. */
} tmo_rolling_buffer;

/* Place of a tensor in memory. Without column windows, the tensor begins at `base + offset`, and row y is at position `y % depth`. Each row of the
 * tensor has `width` pixels. */
typedef struct {
  union {
    uint32_t offset; /* Offset of the tensor from its base, in bytes. A tensor with column windows does not use the field `offset`. */
    uint32_t constant; /* Offset of the tensor in the program, if `base` is TMO_PROGRAM_BASE. */
  };
  uint32_t channels; /* Number of bytes of a pixel, including all channel groups. */
  uint16_t width;
  uint16_t height; /* Number of rows of the whole tensor. */
  union {
    uint16_t depth; /* Number of rows for which the rolling buffer has room. For a whole tensor, the field `depth` is the tensor's height. */
    uint16_t phase; /* Number of rows from `end` to a multiple of `advance`. */
  };
  /* Memory of the tensor: 0 is the workspace, and 1 to n_inputs are the inputs. The numbers from n_inputs + 1 stand for the outputs, the state and
   * the slow memory, in this order. The number TMO_PROGRAM_BASE means that the program contains the tensor. The number TMO_LINK_BASE means that
   * devices send the rows of the tensor to each other. */
  uint8_t base;
  /* Order in which rows are stored, a TMO_LAYOUT_* constant. For column windows and for rolling buffers in the workspace, the field `layout` is
   * TMO_LAYOUT_HWC. */
  uint8_t layout;
  /* Offset of a tmo_column_window[n_column_windows] in the program, or 0 without column windows. The first column window has the first row of each
   * stripe. */
  uint32_t column_windows;
  uint16_t n_column_windows;
  uint16_t advance; /* Number of rows from the end of a stripe to the end of the next stripe. */
  int16_t end; /* Stripe 0 ends before the row with index `end`, or at the end of the tensor. */
  union {
    uint16_t rows; /* Number of rows of a stripe. If a stripe has more rows than the field `advance`, adjacent stripes compute some rows twice. */
    /* Number of rows of a streamed input that arrive at once. Input rows that arrived earlier are in the workspace, at the tensor's offset. */
    uint16_t pushed;
    uint16_t older; /* Number of earlier rows in the state. Row 0 of the tensor directly follows the newest earlier row. */
  };
} tmo_tensor;

/* A rolling buffer of pixels, which holds some adjacent rows of a tiled tensor. */
typedef struct {
  uint32_t offset; /* Offset of the column window from the tensor's base, in bytes. */
  uint32_t depth; /* Number of pixels for which the rolling buffer has room. */
  uint16_t rows; /* Number of rows of a stripe that the column window holds. */
  uint8_t reserved_10[2];
} tmo_column_window;

/* Tells which rows of an operand each iteration reads, if the operator has no window. Iteration y reads `extent` rows. Without a table, the first row
 * is `(y * mul + add) / div`, rounded down. With a table, the first row is `table[y]`. Rows outside the operand are not read. */
typedef struct {
  int32_t add;
  uint16_t mul, div, extent;
  uint8_t reserved_10[2];
  uint32_t table; /* Offset of a uint16_t table with the first input row for each output row (TMO_NONE for no row), or 0 without a table. */
} tmo_access;

/* A tensor that one device sends to another device. */
typedef struct {
  uint32_t identity; /* All programs of one split model have the same identity, and programs of different models have different identities. */
  uint16_t step; /* Index of the tensor among all tensors that devices send. */
  uint8_t from, to;
} tmo_message;

/* Description of how a COPY operator makes an output row. A tmo_copy is followed by n_moves records of tmo_move. */
typedef struct {
  uint16_t n_moves;
  uint8_t fills; /* 1 if the kernel first sets all bytes of the output row to the fill value, and otherwise 0. */
  int8_t fill;
} tmo_copy;

/* A move of a COPY operator copies pieces of adjacent bytes from an input row to an output row. The field `count` is the number of pieces, and the
 * field `bytes` is the size of a piece. In the output row, the first piece begins at byte `target`, and the pieces begin `target_step` bytes apart.
 * In the input row, the first piece begins at byte `source` plus a phase, and the pieces begin `source_step` bytes apart. In output row `y`, the
 * phase of a move is `(y + shift) % period`, multiplied by `phase_step`. For an operator with TMO_FLAG_ITERATIVE, `y` is the index of the input row.
 * The phase of an operator with TMO_FLAG_ITERATIVE is added to `target` instead of `source`. */
typedef struct {
  /* Index of the input row that the move reads. The index counts the rows of operand 0 first, then the rows of operand 1, and so on. A move copies
   * nothing if its input row does not exist. */
  uint16_t row;
  uint16_t count;
  uint32_t bytes, source;
  int32_t source_step, phase_step;
  uint32_t target, target_step;
  uint16_t period, shift;
} tmo_move;

/* Weights that core 0 copies from the program to the workspace when a group begins. */
typedef struct {
  uint32_t weights; /* Offset of the weights in the program. */
  uint32_t bytes; /* Number of bytes of the weights. */
  uint32_t place; /* Offset of the copied weights in the workspace, a multiple of 16. */
} tmo_copied;

/* An operator of a program. The kind of an operator determines the content of its arrays (docs/program-format.md). */
typedef struct {
  uint8_t kind; /* tmo_op_kind */
  uint8_t flags; /* TMO_FLAG_* */
  int8_t input_zero_point[4], output_zero_point;
  int8_t act_min; /* Outputs are limited to the range from act_min to act_max. */
  int8_t act_max; /* Outputs are limited to the range from act_min to act_max. */
  uint8_t n_inputs;
  uint16_t input[4]; /* Indices of the operands in the table of tensors. */
  uint16_t output; /* Index of the output in the table of tensors. */
  uint16_t tile; /* Number of columns that an iteration in a tiled group computes, or 0 if an iteration computes a whole row. */
  uint16_t kernel_h, kernel_w;
  union {
    uint16_t stride_h;
    uint16_t scale_h; /* TFLM's height_scale_10 of RESIZE_BILINEAR, in 1/1024 of a row. */
    uint16_t new_rows; /* Number of new rows that SLIDING_SUM reads in each inference. */
    uint16_t rows_in; /* Number of rows of RESIZE_BILINEAR_F32's input. */
  };
  union {
    uint16_t stride_w;
    uint16_t scale_w; /* TFLM's width_scale_10 of RESIZE_BILINEAR, in 1/1024 of a pixel. */
    uint16_t rows_out; /* Number of rows of RESIZE_BILINEAR_F32's output. */
  };
  uint16_t dilation_h, dilation_w, pad_top, pad_left;
  uint16_t packing; /* TMO_PACKING_* */
  union {
    int32_t left_shift; /* Left shift of both operands of ADD, SUB and SQUARED_DIFFERENCE in bits. */
    int32_t wanted; /* Results of COMPARE that are true: bit 0 for less, bit 1 for equal, and bit 2 for greater. */
    int32_t smallest; /* 1 if MAX_POOL or ARG_MAX finds the smallest value, and 0 if it finds the greatest value. */
    int32_t least_difference; /* Limit of x - max below which SOFTMAX and LOG_SOFTMAX replace e^(x - max) by 0. */
    int32_t sum_bytes; /* Number of bytes of each sum that a SUMS operator writes. */
    int32_t operand_bytes; /* For ADD_SUMS, bits 4k to 4k + 3 are the size of a sum in operand k, or in the output if k is 4. */
    int32_t range_s16; /* Bits 16 to 31 are the maximum of an int16 output, and bits 0 to 15 are its minimum. */
    int32_t cell_range; /* Bits 16 to 31 are the maximum of an LSTM's cells, and bits 0 to 15 are their minimum. */
    int32_t table_rows; /* Number of rows of GATHER's table. */
    int32_t half_pixel_centers; /* 1 if RESIZE_BILINEAR uses half-pixel centers, and otherwise 0. */
    int32_t resize_form; /* A TMO_RESIZE_* constant for RESIZE_BILINEAR_F32. */
    int32_t select_form; /* For SELECT, bits 4n to 4n + 3 describe operand n, and the bits from 12 on are an element's size. */
    int32_t transposed; /* 1 if the right matrix of BATCH_MATMUL is [out][depth], and 0 if it is [depth][out]. */
    int32_t tangent; /* 1 if CURVE_S16 computes tanh, and 0 if it computes the sigmoid function. */
    int32_t float_form; /* For float32 kinds, bits 0 to 3 are a TMO_RANGE_* or 0, and higher bits are a TMO_FUNCTION_* or 0. */
    int32_t beta_bits; /* Bits of the float32 parameter beta of SOFTMAX_F32. */
    int32_t scale_bits; /* Bits of the float32 scale of QUANTIZE, QUANTIZE_S16, DEQUANTIZE and DEQUANTIZE_S16. */
    int32_t identity; /* Number that selects the application's kernel of an OWN operator. */
    int32_t at_once; /* Number of pixels or rows that a kernel computes at once, or TMO_ROOM_FOR_PIXELS plus this number. */
    int32_t one_scale; /* 1 if all channels of a CONV with TMO_PACKING_DSP_DENSE have the same scale, and otherwise 0. */
  };
  union {
    uint32_t weights; /* Offset of the weights in the program. Weights are int8_t[], or float[] for float32 kinds. */
    uint32_t table; /* Offset of LOOKUP's int8_t[TMO_TABLE_BYTES] or of GATHER's int8_t[table_rows][channels]. */
    uint32_t message; /* Offset of a tmo_message in the program, for SEND and RECEIVE. */
    uint32_t copy; /* Offset of a tmo_copy in the program, for COPY. */
    uint32_t copied; /* Offset of a tmo_copied in the program, for operators with TMO_FLAG_COPIES. */
  };
  union {
    /* Offset of the biases in the program, or 0 without biases. Biases are int32_t[channels], int64_t[channels / 2] for int16 kinds, or
     * float[channels / 4] for float32 kinds. */
    uint32_t bias;
    uint32_t curve; /* Offset of LSTM's curve, a uint16_t[256]. The biases follow the curve as int32_t[channels][8]. */
    uint32_t scales; /* Offset in the program of a packed operator's biases and scales, or 0 if the weights contain them. */
  };
  /* Offset of the multipliers in the program, an int32_t[]. ADD and similar kinds have a multiplier for each input, and then a multiplier for the
   * output. */
  uint32_t multipliers;
  uint32_t shifts; /* Offset of the shifts in the program, an int8_t[]. A positive shift is a shift to the left. */
  union {
    /* Offset of int32 sums in the workspace, a multiple of 4. An operator that adds up its input, one row at a time, has an int32_t for each output
     * element. An operator that adds up channel groups has an int32_t for each output element of its largest stripe of rows. */
    uint32_t accumulator;
    uint32_t scratch; /* Offset in the workspace of a packed operator's scratch memory, a multiple of 4. */
  };
  uint16_t channel_groups; /* Number of channel groups in a tiled group, or 0 or 1 if the channels are not divided. */
  uint16_t group_channels; /* Number of channels of each channel group. The last channel group may have fewer channels than the others. */
  uint32_t access; /* Offset of a tmo_access[n_inputs] in the program, or 0 if the operator reads a convolution or pooling window. */
} tmo_op;

/* Operators first_op to first_op + n_ops - 1 of the program, whose iterations alternate. */
typedef struct {
  uint16_t first_op, n_ops;
  /* Offset of the loop counters in the workspace, a multiple of 2. A uint16_t[n_ops] holds the index of the next row of each operator. In a tiled
   * group, a tmo_iteration[n_ops] tells what each operator computes next. */
  uint32_t counters;
  uint16_t stripes; /* Number of stripes of the group, or 0 if the group runs row by row. */
  uint8_t whole; /* 1 if the group has only one operator, whose kernel can compute all rows in one call, and otherwise 0. */
  uint8_t reserved_11[1];
  uint32_t loops; /* Offset in the program of the loop codes (TMO_LOOP_*). */
} tmo_group;

/* Part of the output that an operator of a tiled group computes next. */
typedef struct {
  uint16_t stripe, channel_group, tile, row;
} tmo_iteration;

/* Division of an operator's iterations between two cores. */
typedef struct {
  uint16_t kind; /* TMO_SHARDING_* constant, which states whether the cores divide the columns, the channels, or nothing. */
  uint16_t cut; /* Number of columns or channels that core 0 computes. */
  union {
    uint32_t accumulator; /* Offset of core 1's scratch or sums in the workspace. Core 0 uses the offset tmo_op.accumulator. */
    uint32_t scratch; /* Offset of core 1's scratch in the workspace. Core 0 uses the offset tmo_op.scratch. */
  };
} tmo_sharding;

/* Division of a run between two cores. Both cores run through all iterations with loop counters of their own, and each core computes a part of every
 * iteration. The two cores wait for each other at barriers. The converter's checker proves that between two barriers, neither core accesses bytes
 * that the other core writes. A program for two cores has no state, reads input 0 from the arena, and runs each group row by row. */
typedef struct {
  uint32_t shardings; /* tmo_sharding[n_ops] */
  uint32_t barriers; /* Bit `i % 8` of byte `i / 8` is set if a barrier precedes iteration `i` of the run. */
  uint32_t n_barriers; /* Number of barriers in a run. */
  /* Offset in the program of an array with a bit for each iteration, which is set if core 0 runs the iteration alone. The offset is 0 if core 0 runs
   * no iteration alone. */
  uint32_t serial;
  uint32_t counters; /* Number of bytes from the loop counters of core 0 to the loop counters of core 1. */
} tmo_cores;

#endif /* TMO_PROGRAM_H_ */
