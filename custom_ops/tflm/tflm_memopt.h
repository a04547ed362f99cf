/* SPDX-License-Identifier: Apache-2.0 */
/* Sketches include only this header of the library. A sketch that uses TensorFlow Lite Micro includes the header of TensorFlow Lite Micro first:
 *
 *   #include <Chirale_TensorFlowLite.h>
 *   #include <tflm_memopt.h> */
#ifndef TFLM_MEMOPT_H_
#define TFLM_MEMOPT_H_

#include "tmo/camera.h"
#include "tmo/tmo.h"
#include "tmo/turns.h"

#if defined(__cplusplus) && __has_include("tensorflow/lite/micro/kernels/kernel_util.h")
#include "tmo_tflm.h"
#endif

#endif  // TFLM_MEMOPT_H_
