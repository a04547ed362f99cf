/* Simulates the camera library Arduino_OV767X. */
#ifndef ARDUINO_OV767X_H_
#define ARDUINO_OV767X_H_

#include "frame.h"

enum { YUV422 = 0, RGB444 = 1, RGB565 = 2, GRAYSCALE = 4 };
enum { VGA = 0, CIF = 1, QVGA = 2, QCIF = 3, QQVGA = 4 };

class OV767X {
 public:
  int begin(int resolution, int format, int fps) {
    width_ = resolution == QQVGA ? 160 : resolution == QCIF ? 176 : 0;
    height_ = resolution == QQVGA ? 120 : 144;
    bytes_ = format == GRAYSCALE ? 1 : 2;
    return width_ != 0 && (fps == 1 || fps == 5) && frame_exists();
  }
  int width() const { return width_; }
  int height() const { return height_; }
  void readFrame(void *buffer) { read_frame(buffer, static_cast<size_t>(width_ * height_ * bytes_)); }

 private:
  int width_ = 0, height_ = 0, bytes_ = 0;
};

static OV767X Camera;

#endif  // ARDUINO_OV767X_H_
