/* Simulates the ESP32's WiFi library. */
#pragma once

enum { WIFI_STA };
struct WiFiClass {
  void mode(int) {}
};
static WiFiClass WiFi;
