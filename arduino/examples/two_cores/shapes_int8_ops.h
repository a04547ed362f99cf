// What shapes_int8.tflite needs of TensorFlow Lite Micro: operators and arena. Written by tflm-memopt.
// And of tflm-memopt's library: -DTMO_KINDS=0xceull -DTMO_PACKINGS=0x0ull -DTMO_PARTS=0x4u
#ifndef SHAPES_INT8_OPS_H_
#define SHAPES_INT8_OPS_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tmo_tflm_cores.h"

/* Bytes of the tensor arena: alignas(16) static uint8_t arena[shapes_int8_arena_size];
 * The smallest with which AllocateTensors() succeeds is 24,600 B,
 * of which arena_used_bytes() then says 24,596 B.
 * Convention: ilp32, input in the arena, TFLM reference kernels.
 * The constant is enough for all of these builds of TFLM, and for the largest of them no more than that:
 *   24,600 B built with TF_LITE_STATIC_MEMORY, ilp32
 *   24,676 B without it
 *   24,676 B without it, reference kernels of January 2023 */
constexpr size_t shapes_int8_arena_size = 24688;
#ifdef TMO_RAM_LIMIT /* bytes that your program has for it */
static_assert(shapes_int8_arena_size <= TMO_RAM_LIMIT,
              "shapes_int8 needs an arena of 24688 B, TMO_RAM_LIMIT is less: convert it with --ram-limit");
#endif

/* real = scale * (value - zero_point) */
constexpr float shapes_int8_input_0_scale = 0.00392156886f;
constexpr int32_t shapes_int8_input_0_zero_point = -128;
constexpr float shapes_int8_output_0_scale = 0.00390625f;
constexpr int32_t shapes_int8_output_0_zero_point = -128;

namespace shapes_int8_ops {
/* TFLM's classes are in tflite::micro in versions after August 2026, in tflite before. */
using namespace ::tflite;
using namespace ::tflite::micro;
using Resolver = MicroMutableOpResolver<1>;
}  // namespace shapes_int8_ops

/* The model's operators and no others. The resolver lives as long as the program, as the interpreter asks.
 * team: through which the second core helps (tmo/cores.h), for as long. That of the first call counts; NULL: one core
 * runs it all. */
inline shapes_int8_ops::Resolver &shapes_int8_op_resolver(tmo_team *team = nullptr) {
  static shapes_int8_ops::Resolver resolver;
  static bool filled = false;
  if (!filled) {
    filled = true;
    resolver.AddCustom("TMO_REGION", tmo::RegisterRegionShared(team));
  }
  return resolver;
}

#endif  // SHAPES_INT8_OPS_H_
