/* Runners compile the library with -DTMO_PARTS=core_parts. The variable hides parts that a case's program does not list. */
#ifndef __ASSEMBLER__
extern unsigned core_parts;
#endif
