/* For runners that compile the library with -DTMO_PARTS=core_parts: parts that a case's program does not list are then missing. */
#ifndef __ASSEMBLER__
extern unsigned core_parts;
#endif
