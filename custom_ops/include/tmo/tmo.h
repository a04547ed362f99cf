/* SPDX-License-Identifier: Apache-2.0 */
/* The executor runs the program of a converted model in a workspace that the caller provides. The executor is written in C11, needs a bounded stack,
 * allocates no memory and uses no global variables. */
#ifndef TMO_TMO_H_
#define TMO_TMO_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmo/linkage.h"
#include "tmo/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TMO_WAIT = 2, /* the program needs more input rows: push rows, or wait until another device has sent rows */
  TMO_MORE = 1, /* tmo_step() has completed an iteration, and more iterations remain */
  TMO_OK = 0,
  TMO_ERROR_ALIGNMENT = -1, /* the program is not at a 16-byte boundary: declare the model array alignas(16) */
  TMO_ERROR_MAGIC = -2,     /* the data is not a program */
  TMO_ERROR_VERSION = -3,   /* the program is of a format version that this library cannot run */
  TMO_ERROR_TARGET = -4,    /* the program's weights are packed for another core */
  TMO_ERROR_TRUNCATED = -5, /* there are fewer bytes than the program's header says */
  TMO_ERROR_IO = -6,        /* the program was converted for other sizes of inputs, outputs or workspace */
  TMO_ERROR_TABLE = -7,     /* a table, tensor or group of the program refers to bytes outside the program or its buffers */
  TMO_ERROR_OP = -8,        /* an operator of the program has impossible geometry, operands or constants */
  TMO_ERROR_ITERATIONS = -9,   /* the program does not end after the number of iterations that its header states */
  TMO_ERROR_SOURCE = -10,    /* an external input has no data, or less data than the program reads */
  TMO_ERROR_KERNEL = -11,   /* this build lacks a kernel that the program needs: compile the NAME_library.c that was written with the model */
  TMO_ERROR_LINK = -12,     /* a row from another device is missing, late or damaged, or the other device has restarted */
  TMO_ERROR_PEER = -13,     /* another device runs a program of a different conversion */
  TMO_ERROR_STATE = -14,    /* the state belongs to another program; before you use the state, set all its bytes to 0 */
  TMO_ERROR_INDEX = -20     /* an input contains an index outside the table from which it selects, so the outputs are invalid */
} tmo_status;

/* Returns a text that explains the status and the remedy for an error. tmo_status_text() never returns NULL. */
const char *tmo_status_text(tmo_status status);

/* Proves that tmo_run() reads and writes only inside buffers of the given sizes, whatever values the inputs have. The array io_bytes has the sizes of
 * all inputs in bytes, and then the sizes of all outputs. If the program has a state or slow memory, io_bytes ends with the size of the state and the
 * size of the slow memory. For a streamed input, io_bytes has the size of one push. For an external input, io_bytes may have any value. Call
 * tmo_check() once, before the first run (the TFLM adapter calls tmo_check() in Prepare). */
TMO_LINKAGE tmo_status tmo_check(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs,
                     size_t workspace_bytes);

/* Checks whether this build of the library can run a program that was linked into the same firmware. tmo_check_build() tests alignment, version,
 * core, sizes and available kernels, but does not detect a damaged program. */
TMO_LINKAGE tmo_status tmo_check_build(const void *program, size_t program_bytes, size_t n_inputs, size_t n_outputs, size_t workspace_bytes);

enum {
  TMO_FORMAT_INT8 = 0, /* The picture's elements have the type of the model's input: int8, uint8, int16 or float32. */
  TMO_FORMAT_UINT8 = 1 /* Each byte of the picture is the int8 value of the model's input plus 128. If the input's zero point is -128, the bytes of the picture are brightness values. */
};

/* A picture with the model's input, outside the arena. If the program has TMO_INPUT_EXTERNAL, io[0] points to the tmo_source. The
 * picture has rows of pixels, and the channels of a pixel are adjacent in memory. Each run reads the picture again, so the pixels may change between
 * two runs. */
typedef struct {
  const void *data; /* address of the picture's first pixel */
  uint32_t bytes;   /* size of the whole picture in bytes; nothing is read beyond its end */
  uint32_t pitch;   /* distance in bytes between the starts of two adjacent rows of the picture */
  uint32_t x, y;    /* position in the picture of the first pixel that the model reads */
  uint8_t format;   /* TMO_FORMAT_* */
} tmo_source;

/* Slow memory, such as PSRAM, which holds whole tensors of a program. One element of the array io[] of a run is the address `data`. A run may
 * overwrite all bytes of slow memory. */
typedef struct {
  void *data;         /* address of the slow memory, which is a multiple of 16 */
  uint32_t bytes;     /* size of the slow memory in bytes; the program's tmo_pool states the minimum */
  tmo_source *source; /* picture for a model that runs under TFLM and has an external input; otherwise NULL */
} tmo_memory;

/* Copies rows of a picture, beginning with row source->y and pixel source->x. The copied elements have the type of the model's streamed input.
 * tmo_take_rows() returns TMO_ERROR_SOURCE if the picture lacks some of the rows. */
TMO_LINKAGE tmo_status tmo_take_rows(const tmo_source *source, uint32_t pixel_bytes, uint32_t row_bytes, uint32_t rows, int8_t *to);

/* Runs one inference of a program without a streamed input. The array io has the addresses of all inputs, and then the addresses of all outputs. If
 * the program has a state or slow memory, io[] ends with the address of the state and the address of the slow memory. The addresses of the state and
 * of the slow memory must be multiples of 16. The workspace has header.workspace bytes, starts at a multiple of 16, and need not be initialised. The
 * program must have passed tmo_check() or tmo_check_build(). Inputs and outputs may overlap the workspace only at the offsets that the converter has
 * chosen. */
TMO_LINKAGE tmo_status tmo_run(const void *program, void *const *io, void *workspace);

/* The data that tmo_push() or tmo_run_paused() keeps between two calls of the same inference. Set all bytes of a tmo_stream to zero before the first
 * use of the tmo_stream. An inference keeps no data outside the tmo_stream, the workspace and io[0]. */
typedef struct {
  uint32_t rows;    /* number of rows pushed in the current inference; for a program without pushes, 1 between the start and the end of an inference */
  uint32_t iterations; /* number of iterations that the inference still has to run */
} tmo_stream;

/* Callback through which a program sends rows to other devices and receives rows from them. If a program has TMO_INPUT_LINK, io[n_inputs + n_outputs]
 * points to a tmo_messenger. links/tmo_link.h implements a tmo_messenger. */
typedef struct tmo_messenger tmo_messenger;
struct tmo_messenger {
  /* Sends or receives one row of a tensor. The argument `what` identifies the tensor, and `row` is the index of the row. If the argument `sent` is
   * true, exchange() sends the row at the address `data`. If the argument `sent` is false, exchange() writes the received row to the address `data`.
   * exchange() returns TMO_OK when the row has been sent or received. The result TMO_WAIT means that the program must call exchange() again for the
   * same row. A status other than TMO_OK and TMO_WAIT ends the run. */
  tmo_status (*exchange)(tmo_messenger *self, const tmo_message *what, bool sent, uint16_t row, void *data, uint32_t bytes);
};

/* Runs a program with TMO_INPUT_STREAM as far as the pushed rows allow. io[0] points to the next rows of the input. TMO_WAIT means that more rows
 * must be pushed. TMO_OK means that the last rows were pushed and the outputs are complete. After TMO_OK, the next push begins a new inference. A
 * program with TMO_INPUT_LINK runs as far as the rows from other devices allow. If a program has TMO_INPUT_LINK, TMO_WAIT means that tmo_push() must
 * be called again when more rows may have arrived. If tmo_push() returns an error, the next call of tmo_push() begins a new inference. */
TMO_LINKAGE tmo_status tmo_push(const void *program, void *const *io, void *workspace, tmo_stream *stream);

/* Runs a program like tmo_run(), but pauses when the number of completed iterations equals an entry of the array `pauses`. The entries of the array
 * `pauses` must increase. During a pause, other code may use all bytes of the workspace and of io[] that the paused run does not need later. TMO_WAIT
 * means that the run has paused, and TMO_OK means that the run has ended. To continue a paused run, call tmo_run_paused() again with the same
 * arguments. All bytes of the argument `at` must be zero before the first call of tmo_run_paused(), and are zero at the end of the run. A program
 * that pauses must have neither a state nor a streamed input. */
TMO_LINKAGE tmo_status tmo_run_paused(const void *program, void *const *io, void *workspace, const uint32_t *pauses, uint32_t n_pauses, tmo_stream *at);

/* A loop that is open during a run. */
typedef struct {
  const uint8_t *body; /* the first code of the loop's body */
  uint32_t left;       /* number of iterations that the loop still runs, including the current iteration */
} tmo_loop;

/* Data of a run that is executed one iteration at a time. Call tmo_begin(), and then call tmo_step() until tmo_step() returns neither TMO_MORE nor
 * TMO_WAIT. After TMO_WAIT, put the next rows into io[0] and call tmo_more_rows(). */
typedef struct {
  const uint8_t *program;
  void *const *io;
  uint8_t *workspace;
  const tmo_tensor *stream; /* streamed input of the program, or NULL without a streamed input */
  const tmo_group *group;
  const uint8_t *at;               /* address of the next loop code, or NULL before the group starts */
  tmo_loop loops[TMO_LOOP_DEPTH];  /* the open loops; the last entry is the innermost loop */
  uint32_t rows;    /* number of rows of the streamed input that were pushed in this inference */
  uint32_t iterations; /* number of iterations that the run still has to execute */
  uint32_t depth;   /* number of loops that are open now */
  uint16_t op;      /* index of the operator that the last iteration ran */
  tmo_iteration current; /* index of the part of the output that the last iteration computed; if the group runs row by row, only `row` is set */
} tmo_run_state;

TMO_LINKAGE void tmo_begin(tmo_run_state *run, const void *program, void *const *io, void *workspace);
TMO_LINKAGE tmo_status tmo_step(tmo_run_state *run);
TMO_LINKAGE void tmo_more_rows(tmo_run_state *run);

#ifdef __cplusplus
}
#endif

#endif /* TMO_TMO_H_ */
