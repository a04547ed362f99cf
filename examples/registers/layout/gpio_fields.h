/* Each pin of the GPIO has a group of fields, whose positions in registers are not chosen yet. */
#ifndef GPIO_FIELDS_H_
#define GPIO_FIELDS_H_

#include "register_words.h"

bfGroup GPIOPad {
  bit dir;
  bit access_type(read_only) rse(in) in;
  bit out;
  bit intEn;
  uint2 intType;
  uint8 cfg;
};

bfGroup GPIOType {
  bfGroup GPIOPad pads[32];
  uint32 access_type(read_clears) intStatus;
};

make_device(GPIOType, gpio, 0x1A101000);

#endif /* GPIO_FIELDS_H_ */
