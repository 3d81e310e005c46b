/* Text inside JSON strings. */
#ifndef ROCKETWIRE_JSON_TEXT_H
#define ROCKETWIRE_JSON_TEXT_H

#include "core/span.h"

enum { JSON_TEXT_MOST = 6 }; /* the most bytes that one byte of text becomes: \u001f */

/* Write UTF-8 as it stands between the quotes of a JSON string, with the short escapes where there are any. */
uint8_t *put_json_text(uint8_t *to, span text);

#endif
