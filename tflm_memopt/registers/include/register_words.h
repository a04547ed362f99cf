/* Words of register descriptions, for compilers and editors. Files that `tflm-memopt registers` writes do not need these words. access_type(NAME)
 * is one of read_write, read_only, write_only, read_clears, one_clears, zero_clears. */
#ifndef TMO_REGISTER_WORDS_H_
#define TMO_REGISTER_WORDS_H_

#include <stdint.h>

#define bfGroup struct
#define uint1 unsigned
#define uint2 unsigned
#define uint3 unsigned
#define uint4 unsigned
#define uint5 unsigned
#define uint6 unsigned
#define uint7 unsigned
#define uint8 unsigned
#define uint9 unsigned
#define uint10 unsigned
#define uint11 unsigned
#define uint12 unsigned
#define uint13 unsigned
#define uint14 unsigned
#define uint15 unsigned
#define uint16 unsigned
#define uint17 unsigned
#define uint18 unsigned
#define uint19 unsigned
#define uint20 unsigned
#define uint21 unsigned
#define uint22 unsigned
#define uint23 unsigned
#define uint24 unsigned
#define uint25 unsigned
#define uint26 unsigned
#define uint27 unsigned
#define uint28 unsigned
#define uint29 unsigned
#define uint30 unsigned
#define uint31 unsigned
#define uint32 unsigned
#define uint33 unsigned long long
#define uint34 unsigned long long
#define uint35 unsigned long long
#define uint36 unsigned long long
#define uint37 unsigned long long
#define uint38 unsigned long long
#define uint39 unsigned long long
#define uint40 unsigned long long
#define uint41 unsigned long long
#define uint42 unsigned long long
#define uint43 unsigned long long
#define uint44 unsigned long long
#define uint45 unsigned long long
#define uint46 unsigned long long
#define uint47 unsigned long long
#define uint48 unsigned long long
#define uint49 unsigned long long
#define uint50 unsigned long long
#define uint51 unsigned long long
#define uint52 unsigned long long
#define uint53 unsigned long long
#define uint54 unsigned long long
#define uint55 unsigned long long
#define uint56 unsigned long long
#define uint57 unsigned long long
#define uint58 unsigned long long
#define uint59 unsigned long long
#define uint60 unsigned long long
#define uint61 unsigned long long
#define uint62 unsigned long long
#define uint63 unsigned long long
#define uint64 unsigned long long
#define bit uint1
#define rse(target)
#define wse(target)
#define access_type(name)
#define interrupt_handler
#define make_device(group, name, base) static bfGroup group *const name = (bfGroup group *)(base)

#endif /* TMO_REGISTER_WORDS_H_ */
