/* The variable core_parts has a bit for each optional part of the library that the current program may use. */
#ifndef __ASSEMBLER__
extern unsigned long long core_parts;
#endif
