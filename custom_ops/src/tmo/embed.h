/* SPDX-License-Identifier: Apache-2.0 */
/* The converter's NAME_library.c includes this header to compile only the parts of the library that an application needs.
 *
 *   #define TMO_KINDS(KIND) KIND(CONV) KIND(ADD)
 *   #define TMO_PACKINGS 0ull
 *   #define TMO_PARTS (1ull << TMO_PART_TILES)
 *   #include "tmo/embed.h"
 *   const tmo_library net_library = {.check = tmo_check_embedded, .run = tmo_run};
 *
 * The header build.h explains the macros TMO_KINDS, TMO_PACKINGS and TMO_PARTS. All functions of an embedded library are static. The compiler omits
 * unused functions, and several files of a firmware may include this header. The firmware must also link the library's assembly files, which have
 * inner loops. The macro TMO_TWO_CORES adds the code that runs a program on two cores. The macro TMO_SKIP_PROOF omits the validator, so the firmware
 * does not reject damaged programs. */
#ifndef TMO_EMBED_H_
#define TMO_EMBED_H_

#ifndef TMO_LINKAGE
#define TMO_LINKAGE static
#endif

#include "tmo/library.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#include "../tmo_add_dsp.c"
#include "../tmo_choice.c"
#include "../tmo_conv16_dsp.c"
#include "../tmo_conv_backend.c"
#include "../tmo_conv_dsp.c"
#include "../tmo_conv_mve.c"
#include "../tmo_conv_ref.c"
#include "../tmo_copy_ref.c"
#include "../tmo_depthwise_packed.c"
#include "../tmo_depthwise_ref.c"
#include "../tmo_esp.c"
#include "../tmo_esp_plain.c"
#include "../tmo_generated.c"
#include "../tmo_generated_binary.c"
#include "../tmo_generated_conv16.c"
#include "../tmo_generated_convert.c"
#include "../tmo_generated_curves16.c"
#include "../tmo_generated_lookup.c"
#include "../tmo_generated_pool.c"
#include "../tmo_generated_pool16.c"
#include "../tmo_generated_ref.c"
#include "../tmo_generated_runs16.c"
#include "../tmo_generated_softmax.c"
#include "../tmo_lookup_ref.c"
#include "../tmo_select_ref.c"
#include "../tmo_source.c"
#include "../tmo_lstm_ref.c"
#include "../tmo_matmul_dsp.c"
#include "../tmo_nibbles_ref.c"
#include "../tmo_own.c"
#include "../tmo_packed_arm.c"
#include "../tmo_pool_ref.c"
#include "../tmo_sliding_sum_ref.c"
#include "../tmo_sums_ref.c"
#include "../tmo_transpose_conv_ref.c"
#include "../tmo_vectors.c"
#include "../tmo_nest.c"
#include "../tmo_window.c"

#ifndef TMO_TWO_CORES
#include "../tmo_iterate.c"
#include "../tmo_iterate_few.c"
#include "../tmo_iterate_pixel.c"
#include "../tmo_run.c"
#endif

/* Some of the included files set compiler options, which must not affect the rest of the application. */
#if defined(__GNUC__) && !defined(__clang__)
#define TMO_PUSH_OPTIONS _Pragma("GCC push_options")
#define TMO_POP_OPTIONS _Pragma("GCC pop_options")
#else
#define TMO_PUSH_OPTIONS
#define TMO_POP_OPTIONS
#endif

TMO_PUSH_OPTIONS
#include "../tmo_generated_compare.c"
#include "../tmo_generated_float.c"
#include "../tmo_generated_float_curves.c"
#include "../tmo_generated_float_windows.c"
#include "../tmo_generated_int32.c"
#include "../tmo_generated_places.c"
#include "../tmo_float_ref.c"
TMO_POP_OPTIONS
TMO_PUSH_OPTIONS
#include "../tmo_generated_conv.c"
TMO_POP_OPTIONS
TMO_PUSH_OPTIONS
#include "../tmo_generated_depthwise.c"
TMO_POP_OPTIONS
TMO_PUSH_OPTIONS
#include "../tmo_check_build.c"
TMO_POP_OPTIONS
TMO_PUSH_OPTIONS
#ifdef TMO_TWO_CORES
#include "../tmo_cores.c"
#include "../tmo_iterate_few.c"
#include "../tmo_iterate_pixel.c"
#endif
#include "../tmo_check.c"
#include "../tmo_check_bytes.c"
#include "../tmo_check_kind.c"
#include "../tmo_check_packed.c"
#include "../tmo_loops.c"
TMO_POP_OPTIONS

/* The table of an embedded library has the function tmo_check_embedded() as its member `check`. */
static tmo_status tmo_check_embedded(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs,
                                     size_t workspace_bytes) {
#ifdef TMO_SKIP_PROOF
  (void)io_bytes;
  return tmo_check_build(program, program_bytes, n_inputs, n_outputs, workspace_bytes);
#else
  const tmo_status status = tmo_check(program, program_bytes, io_bytes, n_inputs, n_outputs, workspace_bytes);
#ifdef TMO_TWO_CORES
  if (status == TMO_OK) return tmo_check_cores(program);
#endif
  return status;
#endif
}

#endif /* TMO_EMBED_H_ */
