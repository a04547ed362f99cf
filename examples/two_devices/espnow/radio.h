/* Connects ESP-NOW to custom_ops/links/tmo_link_datagram.h. */
#pragma once

#include <Arduino.h>
#include <WiFi.h>
#include <esp_now.h>
#include <string.h>

#include "tmo_link_datagram.h"

typedef uint8_t radio_address[6];

static tmo_datagrams *radio_datagrams;
static const radio_address *radio_addresses;

/* A callback of ESP-NOW gets an address in ESP-IDF 4, and a struct with the address in later versions. */
static inline const uint8_t *radio_from(const uint8_t *address) { return address; }
static inline const uint8_t *radio_to(const uint8_t *address) { return address; }
template <typename Info>
const uint8_t *radio_from(const Info *info) {
  return info->src_addr;
}
template <typename Info>
const uint8_t *radio_to(const Info *info) {
  return info->des_addr;
}

/* Returns the index of the device that has the address, or n_devices if no device has the address. */
static inline uint8_t radio_device(const uint8_t *address) {
  uint8_t device = 0;
  while (device < radio_datagrams->n_devices && memcmp(radio_addresses[device], address, sizeof(radio_address)) != 0) ++device;
  return device;
}

template <typename From>
void radio_came(const From *from, const uint8_t *frame, int bytes) {
  tmo_datagram_came(radio_datagrams, radio_device(radio_from(from)), frame, static_cast<uint32_t>(bytes));
}

template <typename To>
void radio_sent(const To *to, esp_now_send_status_t status) {
  tmo_datagram_sent(radio_datagrams, radio_device(radio_to(to)), status == ESP_NOW_SEND_SUCCESS);
}

static inline bool radio_send(void *, uint8_t peer, const uint8_t *frame, uint32_t bytes) {
  return esp_now_send(radio_addresses[peer], frame, bytes) == ESP_OK;
}

static inline uint32_t radio_milliseconds() { return static_cast<uint32_t>(millis()); }

/* Starts the radio, and returns false on an error. */
static inline bool begin_radio(tmo_datagrams *datagrams, const radio_address *addresses, uint8_t device) {
  radio_datagrams = datagrams;
  radio_addresses = addresses;
  datagrams->send = radio_send;
  datagrams->milliseconds = radio_milliseconds;
  datagrams->session = static_cast<uint8_t>(esp_random());
  WiFi.mode(WIFI_STA);
  if (esp_now_init() != ESP_OK) return false;
  if (esp_now_register_recv_cb(radio_came) != ESP_OK || esp_now_register_send_cb(radio_sent) != ESP_OK) return false;
  for (uint8_t peer = 0; peer < datagrams->n_devices; ++peer) {
    esp_now_peer_info_t info = {};
    memcpy(info.peer_addr, addresses[peer], sizeof(radio_address));
    if (peer != device && esp_now_add_peer(&info) != ESP_OK) return false;
  }
  return true;
}
