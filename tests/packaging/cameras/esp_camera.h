/* Simulates the camera library esp32-camera. */
#ifndef ESP_CAMERA_H_
#define ESP_CAMERA_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "frame.h"

typedef int esp_err_t;
enum { ESP_OK = 0, ESP_FAIL = -1 };
typedef enum { PIXFORMAT_RGB565, PIXFORMAT_YUV422, PIXFORMAT_YUV420, PIXFORMAT_GRAYSCALE } pixformat_t;
typedef enum { FRAMESIZE_96X96, FRAMESIZE_QQVGA, FRAMESIZE_QVGA, FRAMESIZE_VGA } framesize_t;
typedef enum { LEDC_TIMER_0 } ledc_timer_t;
typedef enum { LEDC_CHANNEL_0 } ledc_channel_t;
typedef enum { CAMERA_GRAB_WHEN_EMPTY, CAMERA_GRAB_LATEST } camera_grab_mode_t;
typedef enum { CAMERA_FB_IN_PSRAM, CAMERA_FB_IN_DRAM } camera_fb_location_t;

typedef struct {
  int pin_pwdn, pin_reset, pin_xclk;
  union {
    int pin_sccb_sda;
    int pin_sscb_sda;
  };
  union {
    int pin_sccb_scl;
    int pin_sscb_scl;
  };
  int pin_d7, pin_d6, pin_d5, pin_d4, pin_d3, pin_d2, pin_d1, pin_d0, pin_vsync, pin_href, pin_pclk;
  int xclk_freq_hz;
  ledc_timer_t ledc_timer;
  ledc_channel_t ledc_channel;
  pixformat_t pixel_format;
  framesize_t frame_size;
  int jpeg_quality;
  size_t fb_count;
  camera_fb_location_t fb_location;
  camera_grab_mode_t grab_mode;
  int sccb_i2c_port;
} camera_config_t;

typedef struct {
  uint8_t *buf;
  size_t len;
  size_t width;
  size_t height;
  pixformat_t format;
} camera_fb_t;

static camera_fb_t esp_frame = {nullptr, 0, 0, 0, PIXFORMAT_RGB565};
static int esp_frames_out = 0;

static inline esp_err_t esp_camera_init(const camera_config_t *config) {
  static const size_t sizes[][2] = {{96, 96}, {160, 120}, {320, 240}, {640, 480}};
  const bool pins = config->pin_xclk != config->pin_pclk && config->pin_d0 != config->pin_d7;
  if (!frame_exists() || config->fb_count == 0 || config->xclk_freq_hz != 20000000 || !pins) return ESP_FAIL;
  esp_frame.width = sizes[config->frame_size][0];
  esp_frame.height = sizes[config->frame_size][1];
  esp_frame.format = config->pixel_format;
  esp_frame.len = esp_frame.width * esp_frame.height * (config->pixel_format == PIXFORMAT_GRAYSCALE ? 1 : 2);
  esp_frame.buf = static_cast<uint8_t *>(realloc(esp_frame.buf, esp_frame.len));
  return ESP_OK;
}

/* A driver with one buffer returns a frame only after the program has given the previous frame back. */
static inline camera_fb_t *esp_camera_fb_get() {
  if (esp_frames_out > 0 || read_frame(esp_frame.buf, esp_frame.len) != esp_frame.len) return nullptr;
  ++esp_frames_out;
  return &esp_frame;
}

static inline void esp_camera_fb_return(camera_fb_t *fb) {
  if (fb != &esp_frame) abort();
  --esp_frames_out;
}

#endif  // ESP_CAMERA_H_
