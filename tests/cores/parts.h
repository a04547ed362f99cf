/* Runners compile the library with -DTMO_PARTS=core_parts. The variable core_parts hides library parts that the program of a case does not list. */
#ifndef __ASSEMBLER__
extern unsigned long long core_parts;
#endif
