/* SPDX-License-Identifier: Apache-2.0 */
/* The executor of tflm-memopt runs a program row by row, or tile by tile, in a caller's workspace. The executor is C11 with a bounded stack, without
 * allocation and without globals. */
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
  TMO_WAIT = 2, /* rows are missing: push the next rows of a streamed input or sliding window, or wait for rows from other devices */
  TMO_MORE = 1, /* tmo_step() has completed an iteration, and more iterations remain */
  TMO_OK = 0,
  TMO_ERROR_ALIGNMENT = -1, /* the program is not at a 16-byte boundary: declare the model array alignas(16) */
  TMO_ERROR_MAGIC = -2,     /* the data is not a program */
  TMO_ERROR_VERSION = -3,   /* the program was written for another version of this library */
  TMO_ERROR_TARGET = -4,    /* the program is packed for another core */
  TMO_ERROR_TRUNCATED = -5, /* there are fewer bytes than the program's header says */
  TMO_ERROR_IO = -6,        /* the program was made for other sizes of inputs, outputs or workspace */
  TMO_ERROR_TABLE = -7,     /* a table, tensor or group refers to bytes outside the program or its buffers */
  TMO_ERROR_OP = -8,        /* an operator has impossible geometry, operands or constants */
  TMO_ERROR_ITERATIONS = -9,   /* the run does not end after the number of iterations that the program states */
  TMO_ERROR_SOURCE = -10,    /* an external input has no data, or has fewer data than the program reads */
  TMO_ERROR_KERNEL = -11,   /* this build lacks a kernel that the program needs: compile the NAME_library.c that was written with the model */
  TMO_ERROR_LINK = -12,     /* rows from another device are missing, late or damaged, or that device started again */
  TMO_ERROR_PEER = -13,     /* another device runs a program from another conversion */
  TMO_ERROR_STATE = -14,    /* the state belongs to another program; to use it, set all its bytes to 0 */
  TMO_ERROR_INDEX = -20     /* an input holds an index outside its table; the outputs are not valid */
} tmo_status;

/* Returns a readable message with the error and its remedy, never NULL. */
const char *tmo_status_text(tmo_status status);

/* Proves that tmo_run() reads and writes only inside buffers of the given sizes, whatever the data are. The array io_bytes has the sizes of the
 * inputs, then of the outputs, then of the state and of slow memory, if the program has them. The size of a streamed input is the size of one push.
 * The size of an external input may be any number. Call tmo_check() once, before the first run (the TFLM adapter calls it in Prepare). */
TMO_LINKAGE tmo_status tmo_check(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs,
                     size_t workspace_bytes);

/* Checks whether this build of the library can run a program in the same firmware. The function tests alignment, version, core, sizes and
 * the availability of kernels, but does not detect damage. */
TMO_LINKAGE tmo_status tmo_check_build(const void *program, size_t program_bytes, size_t n_inputs, size_t n_outputs, size_t workspace_bytes);

enum {
  TMO_FORMAT_INT8 = 0, /* elements in the type of the model's input: int8, uint8, int16 or float32 */
  TMO_FORMAT_UINT8 = 1 /* bytes that are the model's int8 values plus 128, such as a camera's brightness if the zero point is -128 */
};

/* A picture outside the arena, which is io[0] of a program with TMO_INPUT_EXTERNAL. The picture contains the model's input. The picture consists of
 * rows of pixels, whose channels are adjacent. Every run reads the picture again, so the picture may change between runs. */
typedef struct {
  const void *data; /* first pixel of the whole picture */
  uint32_t bytes;   /* bytes of the whole picture, beyond which nothing is read */
  uint32_t pitch;   /* bytes from one row of the picture to the next */
  uint32_t x, y;    /* first pixel of the model's input in the picture */
  uint8_t format;   /* TMO_FORMAT_* */
} tmo_source;

/* Slow memory, such as PSRAM, holds whole tensors of a program. An element of io[] is a pointer to `data`. The contents of slow memory matter only
 * during a run. */
typedef struct {
  void *data;         /* 16-byte aligned */
  uint32_t bytes;     /* size of slow memory, which must be at least what the program needs (tmo_pool) */
  tmo_source *source; /* under TFLM, the source of a model with an external input; otherwise NULL */
} tmo_memory;

/* Copies rows of a source, from row source->y and pixel source->x on. The copied elements have the type that a streamed input would have. Returns
 * TMO_ERROR_SOURCE if the source lacks some of the rows. */
TMO_LINKAGE tmo_status tmo_take_rows(const tmo_source *source, uint32_t pixel_bytes, uint32_t row_bytes, uint32_t rows, int8_t *to);

/* Runs one inference of a program whose input is not streamed. The array io has the inputs, then the outputs, then the state and slow memory (16-byte
 * aligned), if the program has them. The workspace has header.workspace bytes, is 16-byte aligned and needs no initialisation. The program must have
 * passed tmo_check() or tmo_check_build(). Inputs and outputs may overlap the workspace only at the offsets that the converter has chosen. */
TMO_LINKAGE tmo_status tmo_run(const void *program, void *const *io, void *workspace);

/* The state of a run between two pushes or pauses. Set all bytes of a tmo_stream to zero before a run. All other data of the run are in the workspace
 * and in io[0]. */
typedef struct {
  uint32_t rows;    /* number of rows pushed so far; a run without pushes sets the number to 1 when it begins */
  uint32_t iterations; /* iterations left */
} tmo_stream;

/* Sends rows to other devices and receives rows from other devices. The io[n_inputs + n_outputs] of a program with TMO_INPUT_LINK points to a
 * tmo_messenger. links/tmo_link.h implements one. */
typedef struct tmo_messenger tmo_messenger;
struct tmo_messenger {
  /* Sends or receives one row of a tensor. `what` identifies the tensor, and `row` is the number of the row. If `sent` is true, the row is at
   * `data`; otherwise the received row is written to `data`. The function returns TMO_OK when it is done, and TMO_WAIT if it must be called again
   * later for the same row. Any status other than TMO_OK and TMO_WAIT ends the run. */
  tmo_status (*exchange)(tmo_messenger *self, const tmo_message *what, bool sent, uint16_t row, void *data, uint32_t bytes);
};

/* Runs a program with TMO_INPUT_STREAM as far as possible with the next rows of its input, which are in io[0]. TMO_WAIT means that more rows must be
 * pushed. TMO_OK means that the last rows were pushed, that the outputs are complete, and that the next push begins a new inference. A program with
 * TMO_INPUT_LINK runs as far as rows from other devices have arrived. With TMO_INPUT_LINK, TMO_WAIT means that tmo_push() must be called again when
 * more rows may have arrived. After an error, the next call of tmo_push() begins a new run. */
TMO_LINKAGE tmo_status tmo_push(const void *program, void *const *io, void *workspace, tmo_stream *stream);

/* Runs a program like tmo_run(), but pauses after the numbers of iterations in `pauses`, which increase. During a pause, other code can run and use
 * all bytes of the workspace and io that are not live. TMO_WAIT means that the run has paused. To continue, call tmo_run_paused() again with the same
 * arguments. All bytes of `at` must be zero before the first call, and they are zero again when the run has ended. A program that pauses must have no
 * state and no streamed input. */
TMO_LINKAGE tmo_status tmo_run_paused(const void *program, void *const *io, void *workspace, const uint32_t *pauses, uint32_t n_pauses, tmo_stream *at);

/* The state of a run that executes one iteration at a time. Call tmo_begin(), and then tmo_step() until it returns neither TMO_MORE nor TMO_WAIT.
 * After TMO_WAIT, put the next rows into io[0] and call tmo_more_rows(). */
typedef struct {
  const uint8_t *program;
  void *const *io;
  uint8_t *workspace;
  const tmo_tensor *stream; /* the streamed input, or NULL */
  const tmo_group *group;
  const uint8_t *at;                   /* next code of the group's loops, or NULL before the start */
  const uint8_t *body[TMO_LOOP_DEPTH]; /* first code of each open loop, with the innermost loop last */
  uint16_t left[TMO_LOOP_DEPTH];       /* number of remaining iterations of each open loop, including the current iteration */
  uint32_t rows;    /* rows of the streamed input that were pushed */
  uint32_t iterations; /* iterations left */
  uint16_t depth;   /* number of open loops */
  uint16_t op;      /* operator that ran the last iteration */
  tmo_iteration current; /* part of the output that the last iteration computed; in a row group, only its field `row` is set */
} tmo_run_state;

TMO_LINKAGE void tmo_begin(tmo_run_state *run, const void *program, void *const *io, void *workspace);
TMO_LINKAGE tmo_status tmo_step(tmo_run_state *run);
TMO_LINKAGE void tmo_more_rows(tmo_run_state *run);

#ifdef __cplusplus
}
#endif

#endif /* TMO_TMO_H_ */
