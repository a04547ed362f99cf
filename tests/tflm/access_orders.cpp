// Runs TFLM's reference kernels, their loads and stores logged by access_log.c.
//
// A line of standard input is a case: OPERATOR TYPE_IN TYPE_OUT batch height width channels, then the output's last
// three dimensions, then kernel, stride, dilation and padding, each of height and width. The answer is a line for the
// input, when each byte was last read, and one for the output, when it was first written; 0: never.
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iostream>
#include <string>

#include "tensorflow/lite/kernels/internal/reference/add.h"
#include "tensorflow/lite/kernels/internal/reference/conv.h"
#include "tensorflow/lite/kernels/internal/reference/depthwiseconv_float.h"
#include "tensorflow/lite/kernels/internal/reference/dequantize.h"
#include "tensorflow/lite/kernels/internal/reference/fully_connected.h"
#include "tensorflow/lite/kernels/internal/reference/hard_swish.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/add.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/conv.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/fully_connected.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/logistic.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/mul.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/pooling.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/tanh.h"
#include "tensorflow/lite/kernels/internal/reference/leaky_relu.h"
#include "tensorflow/lite/kernels/internal/reference/logistic.h"
#include "tensorflow/lite/kernels/internal/reference/mul.h"
#include "tensorflow/lite/kernels/internal/reference/pad.h"
#include "tensorflow/lite/kernels/internal/reference/pooling.h"
#include "tensorflow/lite/kernels/internal/reference/quantize.h"
#include "tensorflow/lite/kernels/internal/reference/requantize.h"
#include "tensorflow/lite/kernels/internal/reference/softmax.h"
#include "tensorflow/lite/kernels/internal/reference/sub.h"
#include "tensorflow/lite/kernels/internal/reference/tanh.h"

extern "C" {
extern unsigned char tmo_input[], tmo_output[];
extern long tmo_read[], tmo_written[];
void tmo_forget(void);
}

namespace {
using tflite::RuntimeShape;
constexpr int kMost = 65536;
// Divisors are one, to avoid division by zero, and weights are zero.
alignas(16) unsigned char other[kMost], weights[kMost], wide[8 * kMost];
alignas(16) int32_t multiplier[kMost], shift[kMost];
int16_t table[513];

RuntimeShape shape(std::initializer_list<int> sizes) {
  int32_t dims[6] = {};
  int count = 0;
  for (int size : sizes) dims[count++] = size;
  return RuntimeShape(count, dims);
}

struct Case {
  std::string op, in, out;
  int n, h, w, c, oh, ow, oc, kh, kw, sh, sw, dh, dw, ph, pw;
  RuntimeShape x() const { return shape({n, h, w, c}); }
  RuntimeShape y() const { return shape({n, oh, ow, oc}); }
  RuntimeShape bias() const { return shape({oc}); }
};

template <typename T> T *data(unsigned char *at) { return reinterpret_cast<T *>(at); }
template <typename T> T *in() { return data<T>(tmo_input); }
template <typename T> T *out() { return data<T>(tmo_output); }
template <typename T> struct Bias { using type = int32_t; };
template <> struct Bias<int16_t> { using type = int64_t; };

template <typename P> P windows(const Case &c) {
  P p = {};
  p.padding_values.height = static_cast<int16_t>(c.ph);
  p.padding_values.width = static_cast<int16_t>(c.pw);
  p.stride_height = static_cast<int16_t>(c.sh);
  p.stride_width = static_cast<int16_t>(c.sw);
  p.quantized_activation_min = -100;
  p.quantized_activation_max = 100;
  p.float_activation_max = 100;
  return p;
}

template <typename P> P dilated(const Case &c) {
  P p = windows<P>(c);
  p.dilation_height_factor = static_cast<int16_t>(c.dh);
  p.dilation_width_factor = static_cast<int16_t>(c.dw);
  return p;
}

template <typename T> bool conv(const Case &c) {
  const auto p = dilated<tflite::ConvParams>(c);
  const RuntimeShape f = shape({c.oc, c.kh, c.kw, c.c});
  tflite::reference_integer_ops::ConvPerChannel(p, multiplier, shift, c.x(), in<T>(), f, data<int8_t>(weights),
                                                c.bias(), data<typename Bias<T>::type>(wide), c.y(), out<T>());
  return true;
}

template <> bool conv<float>(const Case &c) {
  const RuntimeShape f = shape({c.oc, c.kh, c.kw, c.c});
  tflite::reference_ops::Conv(dilated<tflite::ConvParams>(c), c.x(), in<float>(), f, data<float>(weights), c.bias(),
                              data<float>(wide), c.y(), out<float>(), RuntimeShape(), nullptr);
  return true;
}

template <typename T> bool depthwise(const Case &c) {
  auto p = dilated<tflite::DepthwiseParams>(c);
  p.depth_multiplier = static_cast<int16_t>(c.oc / c.c);
  const RuntimeShape f = shape({1, c.kh, c.kw, c.oc});
  tflite::reference_integer_ops::DepthwiseConvPerChannel(p, multiplier, shift, c.x(), in<T>(), f,
                                                         data<int8_t>(weights), c.bias(),
                                                         data<typename Bias<T>::type>(wide), c.y(), out<T>());
  return true;
}

template <> bool depthwise<float>(const Case &c) {
  auto p = dilated<tflite::DepthwiseParams>(c);
  p.depth_multiplier = static_cast<int16_t>(c.oc / c.c);
  tflite::reference_ops::DepthwiseConv(p, c.x(), in<float>(), shape({1, c.kh, c.kw, c.oc}),
                                       data<float>(weights), c.bias(), data<float>(wide), c.y(), out<float>());
  return true;
}

template <typename T> bool dense(const Case &c) {
  tflite::FullyConnectedParams p = {};
  p.output_multiplier = 1 << 30;
  p.quantized_activation_min = -100;
  p.quantized_activation_max = 100;
  p.float_activation_max = 100;
  const RuntimeShape x = shape({c.n, c.h * c.w * c.c}), f = shape({c.oc, c.h * c.w * c.c}), y = shape({c.n, c.oc});
  if constexpr (sizeof(T) == 4) {
    tflite::reference_ops::FullyConnected(p, x, in<T>(), f, data<T>(weights), c.bias(), data<T>(wide), y, out<T>());
  } else {
    tflite::reference_integer_ops::FullyConnected(p, x, in<T>(), f, data<int8_t>(weights), c.bias(),
                                                  data<typename Bias<T>::type>(wide), y, out<T>());
  }
  return true;
}

template <typename T> bool pool(const Case &c, bool average) {
  auto p = windows<tflite::PoolParams>(c);
  p.filter_height = c.kh;
  p.filter_width = c.kw;
  if constexpr (sizeof(T) == 4) {
    if (average) return tflite::reference_ops::AveragePool(p, c.x(), in<T>(), c.y(), out<T>());
    tflite::reference_ops::MaxPool(p, c.x(), in<T>(), c.y(), out<T>());
  } else {
    if (average) return tflite::reference_integer_ops::AveragePool(p, c.x(), in<T>(), c.y(), out<T>());
    tflite::reference_integer_ops::MaxPool(p, c.x(), in<T>(), c.y(), out<T>());
  }
  return true;
}

// There are two operands, and the output may overlap either. `second`: log the second one.
template <typename T> bool binary(const Case &c, bool second) {
  tflite::ArithmeticParams p = {};
  p.input1_multiplier = p.input2_multiplier = p.output_multiplier = 1 << 30;
  p.left_shift = 10;
  p.quantized_activation_min = -100;
  p.quantized_activation_max = 100;
  p.float_activation_max = 100;
  const T *a = second ? data<T>(other) : in<T>(), *b = second ? in<T>() : data<T>(other);
  const RuntimeShape s = c.x();
  if (c.op[0] == 'A') {
    if constexpr (sizeof(T) == 1) tflite::reference_integer_ops::Add(p, s, a, s, b, s, out<T>());
    else if constexpr (sizeof(T) == 2) tflite::reference_ops::Add(p, s, a, s, b, s, out<T>(), false);
    else tflite::reference_ops::Add(p, s, a, s, b, s, out<T>());
  } else if (c.op[0] == 'M') {
    if constexpr (sizeof(T) == 4) tflite::reference_ops::Mul(p, s, a, s, b, s, out<T>());
    else tflite::reference_integer_ops::Mul(p, s, a, s, b, s, out<T>());
  } else {
    if constexpr (sizeof(T) == 4) tflite::reference_ops::SubWithActivation(p, s, a, s, b, s, out<T>());
    else tflite::reference_ops::Sub(p, s, a, s, b, s, out<T>());
  }
  return true;
}

template <typename T> bool softmax(const Case &c) {
  tflite::SoftmaxParams p = {};
  p.input_multiplier = 1 << 30;
  p.input_left_shift = 1;
  p.diff_min = -100;
  p.exp_lut = p.one_over_one_plus_x_lut = table;
  if constexpr (sizeof(T) == 2) tflite::reference_ops::SoftmaxInt16(p, c.x(), in<T>(), c.y(), out<T>());
  else tflite::reference_ops::Softmax(p, c.x(), in<T>(), c.y(), out<T>());
  return true;
}

template <typename T> bool unary(const Case &c) {
  const RuntimeShape s = c.x();
  const int size = s.FlatSize();
  if (c.op == "LOGISTIC") {
    if constexpr (sizeof(T) == 1) tflite::reference_integer_ops::Logistic(0, 100, 1 << 30, 4, size, in<T>(), out<T>());
    else if constexpr (sizeof(T) == 2) tflite::reference_integer_ops::Logistic(1, 0, size, in<T>(), out<T>());
    else tflite::reference_ops::Logistic(s, in<T>(), s, out<T>());
  } else if (c.op == "TANH") {
    if constexpr (sizeof(T) == 1) tflite::reference_integer_ops::Tanh(0, 100, 1 << 30, 4, s, in<T>(), s, out<T>());
    else if constexpr (sizeof(T) == 2) tflite::reference_integer_ops::Tanh(1, 0, s, in<T>(), s, out<T>());
    else tflite::reference_ops::Tanh(s, in<T>(), s, out<T>());
  } else if (c.op == "HARD_SWISH") {
    if constexpr (sizeof(T) == 1) {
      tflite::HardSwishParams p = {};
      p.reluish_multiplier_exponent = p.output_multiplier_exponent = -1;
      tflite::reference_ops::HardSwish(p, s, in<T>(), s, out<T>());
    } else if constexpr (sizeof(T) == 4) {
      tflite::reference_ops::HardSwish(s, in<T>(), s, out<T>());
    } else {
      return false;
    }
  } else if (c.op == "LEAKY_RELU") {
    tflite::LeakyReluParams p = {};
    p.output_multiplier_identity = p.output_multiplier_alpha = 1 << 30;
    if constexpr (sizeof(T) == 4) tflite::reference_ops::LeakyRelu(p, s, in<T>(), s, out<T>());
    else tflite::reference_ops::QuantizeLeakyRelu(p, s, in<T>(), s, out<T>());
  } else {
    return false;
  }
  return true;
}

template <typename T> bool pad(const Case &c) {
  tflite::PadParams p = {};
  p.left_padding_count = p.right_padding_count = 4;
  p.left_padding[1] = c.ph;
  p.left_padding[2] = c.pw;
  p.right_padding[1] = c.oh - c.h - c.ph;
  p.right_padding[2] = c.ow - c.w - c.pw;
  const T value = 1;
  tflite::reference_ops::Pad(p, c.x(), in<T>(), &value, c.y(), out<T>());
  return true;
}

bool converted(const Case &c) {
  if (c.op == "DEQUANTIZE" && c.in == "INT8" && c.out == "FLOAT32") {
    tflite::DequantizationParams p = {};
    tflite::reference_ops::Dequantize(p, c.x(), in<int8_t>(), c.y(), out<float>());
  } else if (c.op == "QUANTIZE" && c.in == "FLOAT32" && c.out == "INT8") {
    tflite::QuantizationParams p = {};
    p.scale = 1;
    tflite::reference_ops::AffineQuantize(p, c.x(), in<float>(), c.y(), out<int8_t>());
  } else if (c.op == "QUANTIZE" && c.in == "INT8" && c.out == "INT8") {
    tflite::reference_ops::Requantize(in<int8_t>(), c.x().FlatSize(), 1 << 30, 0, 0, 0, out<int8_t>());
  } else {
    return false;
  }
  return true;
}

template <typename T> bool run(const Case &c, bool second) {
  if (c.op == "CONV_2D") return conv<T>(c);
  if (c.op == "DEPTHWISE_CONV_2D") return depthwise<T>(c);
  if (c.op == "FULLY_CONNECTED") return dense<T>(c);
  if (c.op == "AVERAGE_POOL_2D" || c.op == "MAX_POOL_2D") return pool<T>(c, c.op[0] == 'A');
  if (c.op == "ADD" || c.op == "SUB" || c.op == "MUL") return binary<T>(c, second);
  if (c.op == "SOFTMAX") return softmax<T>(c);
  if (c.op == "PAD") return pad<T>(c);
  return unary<T>(c);
}

void answer(const long *when, int size) {
  for (int i = 0; i < size; ++i) std::printf("%ld ", when[i]);
  std::puts("");
}
}  // namespace

int main() {
  for (int &m : multiplier) m = 1 << 30;
  Case c;
  int k;
  while (std::cin >> c.op >> c.in >> c.out >> k >> c.n >> c.h >> c.w >> c.c >> c.oh >> c.ow >> c.oc >> c.kh >> c.kw >>
         c.sh >> c.sw >> c.dh >> c.dw >> c.ph >> c.pw) {
    tmo_forget();
    const bool done = c.in != c.out || c.op == "QUANTIZE" ? converted(c)
                      : c.in == "INT8"                    ? run<int8_t>(c, k == 1)
                      : c.in == "INT16"                   ? run<int16_t>(c, k == 1)
                                                          : run<float>(c, k == 1);
    if (!done) return 1;
    const auto bytes = [](const std::string &t) { return t == "INT8" ? 1 : t == "INT16" ? 2 : 4; };
    answer(tmo_read, c.x().FlatSize() * bytes(c.in));
    answer(tmo_written, c.n * c.oh * c.ow * c.oc * bytes(c.out));
  }
  return 0;
}
