/* Declares the part of the ESP32's WiFi library that the sketches use. */
#pragma once

enum { WIFI_STA };
struct WiFiClass {
  void mode(int) {}
};
static WiFiClass WiFi;
