/* Whether bytes are UTF-8 as Python's strict decoder takes it: no overlong form, no surrogate, none above U+10FFFF. */
#ifndef ROCKETWIRE_UTF8_H
#define ROCKETWIRE_UTF8_H

#include "core/span.h"

bool utf8_valid(span text);

#endif
