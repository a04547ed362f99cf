/* Links the library and checks an invalid program: exits with 0 if it is refused with a message. */
#include <stdio.h>

#include "tmo/tmo.h"

int main(void) {
  static const _Alignas(16) uint8_t no_program[16];
  const tmo_status status = tmo_check(no_program, sizeof no_program, NULL, 0, 0, 0);
  printf("%s\n", tmo_status_text(status));
  return status < TMO_OK ? 0 : 1;
}
