/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and offsets of the program's structs, for the converter's tests. Host only. */
#ifndef TMO_LAYOUT_H_
#define TMO_LAYOUT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "tmo_header" (offset 0, the struct's size) or "tmo_header.magic". */
typedef struct {
  const char *name;
  uint32_t offset;
  uint32_t bytes;
} tmo_layout_entry;

const tmo_layout_entry *tmo_host_layout(size_t *n_entries);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LAYOUT_H_ */
