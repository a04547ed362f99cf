/* For runners that compile the library with -DTMO_PARTS=core_parts, which hides the parts that a case's program does not list. */
#ifndef __ASSEMBLER__
extern unsigned core_parts;
#endif
