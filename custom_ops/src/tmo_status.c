/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/tmo.h"

const char *tmo_status_text(tmo_status status) {
  switch (status) {
    case TMO_WAIT: return "input rows are missing: push the next input rows";
    case TMO_MORE: return "more iterations are left";
    case TMO_OK: return "done";
    case TMO_ERROR_ALIGNMENT: return "the program is not 16-byte aligned: declare the model array alignas(16)";
    case TMO_ERROR_MAGIC: return "not a tflm-memopt program: convert the model again";
    case TMO_ERROR_VERSION: return "the program is of another format version: install the library that belongs to the converter";
    case TMO_ERROR_TARGET: return "the program is packed for another core: convert the model for this target";
    case TMO_ERROR_TRUNCATED: return "the program is truncated: copy the whole model";
    case TMO_ERROR_IO: return "inputs, outputs or workspace do not have the sizes that the program needs: convert the model again";
    case TMO_ERROR_TABLE: return "the program is damaged: an offset or index is out of its range";
    case TMO_ERROR_OP: return "the program is damaged: an operator has impossible geometry, operands or constants";
    case TMO_ERROR_ITERATIONS: return "the program is damaged: the run does not end after the declared number of iterations";
    case TMO_ERROR_KERNEL: return "this build lacks a kernel that the program needs: compile the NAME_library.c that was written with this model";
    case TMO_ERROR_INDEX: return "an index in the input is outside of its table: feed indices from 0 to the table's last row";
    case TMO_ERROR_SOURCE: return "the external input is missing or too small: its tmo_source must hold all rows and columns that the model reads";
    case TMO_ERROR_LINK: return "rows of another device are missing, late or damaged: repeat the inference";
    case TMO_ERROR_STATE: return "the state belongs to another program: set the whole state to 0";
    case TMO_ERROR_PEER: return "another device runs a program of another conversion";
  }
  return "unknown status";
}
