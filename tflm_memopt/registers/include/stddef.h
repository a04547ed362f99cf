/* A header that drivers may include, only for parsing: libclang has no compiler headers. */
#ifndef TMO_REGISTERS_STDDEF_H_
#define TMO_REGISTERS_STDDEF_H_
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#define NULL ((void *)0)
#endif
