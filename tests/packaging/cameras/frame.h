/* The file frame.bin has the picture that the simulated camera takes. Without frame.bin, no camera can be opened. */
#ifndef FRAME_H_
#define FRAME_H_

#include <stddef.h>
#include <stdio.h>

inline bool frame_exists() {
  FILE *file = fopen("frame.bin", "rb");
  if (file != nullptr) fclose(file);
  return file != nullptr;
}

inline size_t read_frame(void *to, size_t bytes) {
  FILE *file = fopen("frame.bin", "rb");
  if (file == nullptr) return 0;
  const size_t got = fread(to, 1, bytes, file);
  fclose(file);
  return got;
}

#endif  // FRAME_H_
