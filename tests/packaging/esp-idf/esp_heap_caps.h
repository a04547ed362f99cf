#include <stdlib.h>
#define MALLOC_CAP_SPIRAM 1
inline void *heap_caps_aligned_alloc(size_t alignment, size_t bytes, unsigned) {
  return getenv("NO_PSRAM") ? NULL : aligned_alloc(alignment, bytes);
}
