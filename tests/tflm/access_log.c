/* Logs every load and store of code that is compiled with -fsanitize=kernel-address: when each byte of two buffers was last read and
 * first written. This file itself is compiled without that option. */
#include <stddef.h>
#include <stdint.h>

#define MOST 65536

unsigned char tmo_input[MOST], tmo_output[MOST];
long tmo_read[MOST], tmo_written[MOST]; /* 0: never */
static long now;

void tmo_forget(void) {
  now = 0;
  for (size_t i = 0; i < MOST; ++i) tmo_read[i] = tmo_written[i] = 0;
}

static void load(uintptr_t at, size_t n) {
  ++now;
  for (size_t i = 0; i < n; ++i)
    if (at + i - (uintptr_t)tmo_input < MOST) tmo_read[at + i - (uintptr_t)tmo_input] = now;
}

static void store(uintptr_t at, size_t n) {
  ++now;
  for (size_t i = 0; i < n; ++i) {
    size_t k = at + i - (uintptr_t)tmo_output;
    if (k < MOST && !tmo_written[k]) tmo_written[k] = now;
  }
}

#define SIZE(n)                                                  \
  void __asan_load##n##_noabort(uintptr_t at) { load(at, n); }   \
  void __asan_store##n##_noabort(uintptr_t at) { store(at, n); }
SIZE(1) SIZE(2) SIZE(4) SIZE(8) SIZE(16)
void __asan_loadN_noabort(uintptr_t at, size_t n) { load(at, n); }
void __asan_storeN_noabort(uintptr_t at, size_t n) { store(at, n); }
void __asan_handle_no_return(void) {}
void __asan_before_dynamic_init(const char *name) { (void)name; }
void __asan_after_dynamic_init(void) {}
