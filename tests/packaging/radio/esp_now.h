/* Simulates ESP-NOW: each address is a datagram socket in the folder $RADIO, and a thread runs the callbacks. The
 * simulated radio loses $LOSS per cent of the frames and of the acknowledgements. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

typedef int esp_err_t;
enum { ESP_OK = 0, ESP_FAIL = -1 };
typedef enum { ESP_NOW_SEND_SUCCESS, ESP_NOW_SEND_FAIL } esp_now_send_status_t;
typedef struct {
  uint8_t peer_addr[6];
  uint8_t channel;
} esp_now_peer_info_t;
#ifdef RADIO_OF_IDF_4
typedef void (*esp_now_recv_cb_t)(const uint8_t *, const uint8_t *, int);
typedef void (*esp_now_send_cb_t)(const uint8_t *, esp_now_send_status_t);
#else
typedef struct {
  uint8_t *src_addr, *des_addr;
} esp_now_recv_info_t;
typedef esp_now_recv_info_t esp_now_send_info_t;
typedef void (*esp_now_recv_cb_t)(const esp_now_recv_info_t *, const uint8_t *, int);
typedef void (*esp_now_send_cb_t)(const esp_now_send_info_t *, esp_now_send_status_t);
#endif

namespace radio {

struct Frame {
  uint8_t acknowledges, from[6];
  uint32_t number;
  uint8_t bytes[250];
};

static esp_now_recv_cb_t received;
static esp_now_send_cb_t sent;
static uint8_t own[6], to[6];
static int endpoint;
static std::atomic<uint32_t> number{0};
static std::atomic<bool> flying{false};
static std::atomic<int64_t> since{0};

inline int64_t now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

inline sockaddr_un place(const uint8_t *address) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  snprintf(name.sun_path, sizeof name.sun_path, "%s/%02x", getenv("RADIO"), address[5]);
  return name;
}

inline void put(const uint8_t *address, const Frame &frame, size_t count) {
  const sockaddr_un name = place(address);
  (void)!sendto(endpoint, &frame, offsetof(Frame, bytes) + count, MSG_DONTWAIT, reinterpret_cast<const sockaddr *>(&name), sizeof name);
}

template <typename Info>
void call(void (*callback)(const Info *, const uint8_t *, int), uint8_t *from, const uint8_t *bytes, int count) {
  Info info = {from, own};
  callback(&info, bytes, count);
}
inline void call(void (*callback)(const uint8_t *, const uint8_t *, int), uint8_t *from, const uint8_t *bytes, int count) {
  callback(from, bytes, count);
}
template <typename Info>
void call(void (*callback)(const Info *, esp_now_send_status_t), esp_now_send_status_t status) {
  Info info = {own, to};
  callback(&info, status);
}
inline void call(void (*callback)(const uint8_t *, esp_now_send_status_t), esp_now_send_status_t status) { callback(to, status); }

inline void end(esp_now_send_status_t status) {
  flying = false;
  call(sent, status);
}

inline void task() {
  std::mt19937 random(own[5] + 1u);
  const unsigned loss = static_cast<unsigned>(atoi(getenv("LOSS")));
  for (;;) {
    Frame frame;
    const ssize_t n = recv(endpoint, &frame, sizeof frame, 0);
    if (n > 0 && frame.acknowledges) {
      if (flying && frame.number == number) end(ESP_NOW_SEND_SUCCESS);
    } else if (n > 0 && random() % 100 >= loss) {
      const int count = static_cast<int>(n) - static_cast<int>(offsetof(Frame, bytes));
      call(received, frame.from, frame.bytes, count);
      Frame answer = frame;
      answer.acknowledges = 1;
      if (random() % 100 >= loss) put(frame.from, answer, 0);
    }
    if (flying && now() - since > 20) end(ESP_NOW_SEND_FAIL);
  }
}

}  // namespace radio

inline uint32_t esp_random() { return std::random_device()(); }

inline esp_err_t esp_now_init() {
  const char *address = getenv("ADDRESS"); /* $ADDRESS is the last byte of the radio's address */
  const uint8_t start[] = {0x24, 0x6F, 0x28, 0x00, 0x00, static_cast<uint8_t>(atoi(address))};
  memcpy(radio::own, start, sizeof start);
  radio::endpoint = socket(AF_UNIX, SOCK_DGRAM, 0);
  const timeval millisecond = {0, 1000};
  setsockopt(radio::endpoint, SOL_SOCKET, SO_RCVTIMEO, &millisecond, sizeof millisecond);
  const sockaddr_un name = radio::place(radio::own);
  unlink(name.sun_path);
  return bind(radio::endpoint, reinterpret_cast<const sockaddr *>(&name), sizeof name) == 0 ? ESP_OK : ESP_FAIL;
}

inline esp_err_t esp_now_register_recv_cb(esp_now_recv_cb_t callback) {
  radio::received = callback;
  return ESP_OK;
}

inline esp_err_t esp_now_register_send_cb(esp_now_send_cb_t callback) {
  radio::sent = callback;
  std::thread(radio::task).detach();
  return ESP_OK;
}

inline esp_err_t esp_now_add_peer(const esp_now_peer_info_t *) { return ESP_OK; }

inline esp_err_t esp_now_send(const uint8_t *address, const uint8_t *bytes, size_t count) {
  if (radio::flying || count > 250) return ESP_FAIL;
  radio::Frame frame = {};
  memcpy(frame.from, radio::own, sizeof frame.from);
  memcpy(frame.bytes, bytes, count);
  memcpy(radio::to, address, sizeof radio::to);
  frame.number = ++radio::number;
  radio::since = radio::now();
  radio::flying = true;
  radio::put(address, frame, count);
  return ESP_OK;
}
