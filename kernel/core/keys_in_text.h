/* Keys in the text of a header, looked for without reading the rest of it. */
#ifndef ROCKETWIRE_KEYS_IN_TEXT_H
#define ROCKETWIRE_KEYS_IN_TEXT_H

#include "core/span.h"

/* A key as it is written, and the place of the letter in it that is rarest in headers: memchr searches it, many bytes a
 * step. memmem would make a table at each call, which costs more than to go through a short header. */
typedef struct {
    span text;
    size_t rare;
} text_key;

#define TEXT_KEY(text, rare) ((text_key){span_of(text, sizeof(text) - 1), rare})

/* Where it is first, or NULL. */
static inline const uint8_t *text_key_find(const uint8_t *at, const uint8_t *end, text_key wanted)
{
    if ((size_t)(end - at) < wanted.text.len) {
        return NULL;
    }
    const uint8_t *last = end - (wanted.text.len - wanted.rare) + 1; /* behind the last place of its rare letter */
    for (at += wanted.rare; at < last; at++) {
        at = memchr(at, wanted.text.at[wanted.rare], (size_t)(last - at));
        if (at == NULL) {
            return NULL;
        }
        if (memcmp(at - wanted.rare, wanted.text.at, wanted.text.len) == 0) {
            return at - wanted.rare;
        }
    }
    return NULL;
}

#endif
