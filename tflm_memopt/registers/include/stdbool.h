/* A header that drivers may include, only for parsing: libclang has no compiler headers. */
#ifndef TMO_REGISTERS_STDBOOL_H_
#define TMO_REGISTERS_STDBOOL_H_
#ifndef __cplusplus
#define bool _Bool
#define true 1
#define false 0
#endif
#endif
