/* shapes_int8.tflite without an interpreter: C11, for tflm-memopt's custom_ops/src. Written by tflm-memopt.
 *
 * Inputs and outputs are the model's, in its order. The weights stay in flash; all RAM is one static arena, and the
 * stack of an invocation.
 * With -DTMO_KINDS=0xceull -DTMO_PACKINGS=0x0ull -DTMO_PARTS=0x5u the library has nothing but what this model needs.
 * With TMO_SKIP_PROOF this file does not prove again that the program stays inside its buffers: tflm-memopt did. */
#ifndef SHAPES_INT8_MODULE_H_
#define SHAPES_INT8_MODULE_H_

#include <stdint.h>

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHAPES_INT8_ARENA_BYTES 14048u /* with -DTMO_RAM_LIMIT=BYTES, more than that does not compile */
#define SHAPES_INT8_INPUT_BYTES 9216u /* int8 1x96x96x1, scale 0.00392156886, zero point -128, 'serving_default_keras_tensor_44:0' */
#define SHAPES_INT8_OUTPUT_BYTES 6u /* int8 1x6, scale 0.00390625, zero point -128, 'StatefulPartitionedCall_1:0' */

/* Once, before everything else: whether this library runs this program. tmo_status_text() says what is wrong. */
tmo_status shapes_int8_init(void);

/* To be filled before every invocation, all of them: their bytes are used again, for the outputs too. */
int8_t *shapes_int8_input(void);

tmo_status shapes_int8_invoke(void);

/* Valid until an input is filled again, or the model runs again. */
const int8_t *shapes_int8_output(void);

/* Runs a stored input: how many bytes of the output differ from what TFLM gives on a PC; negative: a tmo_status. */
int32_t shapes_int8_selftest(void);

#ifdef __cplusplus
}
#endif

#endif /* SHAPES_INT8_MODULE_H_ */
