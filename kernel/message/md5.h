/* MD5, which 5.x clients check bodies with: no secret depends on it. The twin is hashlib's. */
#ifndef ROCKETWIRE_MD5_H
#define ROCKETWIRE_MD5_H

#include "core/span.h"

enum { MD5_DIGITS = 32 };

/* Write the checksum as hexadecimal digits, the letters in upper case; returns the end. */
uint8_t *put_md5(uint8_t *to, span data);

#endif
