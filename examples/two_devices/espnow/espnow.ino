/* Recognises six drawn shapes with two boards that ESP-NOW links. README.md lists the files that this sketch needs in its folder. */
#include <Chirale_TensorFlowLite.h>
#include <tflm_memopt.h>

#include "radio.h"
#include "shapes_image.h"
#include "shapes_int8_model.h"
#include "shapes_int8_ops.h"
#include "tensorflow/lite/micro/micro_interpreter.h"

#ifndef DEVICE
#define DEVICE 0 /* Device 0 has the image and prints the scores; device 1 helps. */
#endif

static const uint8_t kAddresses[][6] = {{0x24, 0x6F, 0x28, 0x00, 0x00, 0x00}, {0x24, 0x6F, 0x28, 0x00, 0x00, 0x01}};
static const uint8_t kDevices = 2;
static const uint32_t kPatience = 1000; /* milliseconds after which a silent device counts as lost */

static uint8_t received[32768]; /* The size is a power of two, at least room_for_all in shapes_int8.report.json. */
static tmo_datagram_link links[kDevices];
static tmo_datagrams datagrams;
static tmo_transport transport;
static tmo_peer peers[kDevices];
static tmo_link device_link;

static const char *const kNames[] = {"circle", "triangle", "square", "pentagon", "star", "cross"};

alignas(16) static uint8_t arena[shapes_int8_arena_size];
static tflite::MicroInterpreter *interpreter = nullptr;

void setup() {
  Serial.begin(115200);
  while (!Serial) {
  }
  links[1 - DEVICE].received = received;
  links[1 - DEVICE].room = sizeof(received);
  datagrams.links = links;
  datagrams.n_devices = kDevices;
  transport = tmo_datagram_transport(&datagrams);
  if (!begin_radio(&datagrams, kAddresses, DEVICE)) {
    Serial.println("no ESP-NOW");
    return;
  }
  tmo_link_open(&device_link, &transport, peers, DEVICE, kDevices, datagrams.session, kPatience);

  static tflite::MicroInterpreter only(tflite::GetModel(shapes_int8_model), shapes_int8_op_resolver(), arena, sizeof(arena));
  if (only.AllocateTensors() == kTfLiteOk && tmo::SetLink(only, &device_link.messenger) == 0) interpreter = &only;
}

void loop() {
  if (interpreter == nullptr) return;
#if DEVICE == 0
  memcpy(interpreter->input(0)->data.int8, shapes_image, sizeof(shapes_image));
#endif
  const unsigned long start = micros();
  tmo_link_begin(&device_link);
  int result;
  do {
    result = static_cast<int>(interpreter->Invoke());
  } while (result == static_cast<int>(tmo::status::kTfLiteAbort) && tmo_link_wait(&device_link) == TMO_OK);
  if (result != static_cast<int>(kTfLiteOk)) { /* Another device is missing or has restarted. */
    interpreter->Reset();
    return;
  }
#if DEVICE == 0
  const unsigned long took = micros() - start;
  const int8_t *scores = interpreter->output(0)->data.int8;
  int best = 0;
  for (int i = 1; i < 6; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  const bool same = memcmp(scores, shapes_scores, sizeof(shapes_scores)) == 0;
  Serial.print(kNames[best]);
  Serial.print(same ? ", the same scores as on a PC, " : ", OTHER SCORES than on a PC, ");
  Serial.print(took);
  Serial.println(" us");
#else
  (void)start; /* Device 1 must not wait between inferences, because a frame may still hold unsent rows. */
#endif
}
