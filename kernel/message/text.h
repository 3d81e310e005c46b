/* Java's hash of a text, and the messages of a batch. The twins are wire.java.string_hash and wire.batch.decode_batch.
 */
#ifndef ROCKETWIRE_TEXT_H
#define ROCKETWIRE_TEXT_H

#include "core/span.h"

/* String.hashCode of valid UTF-8, continued from `hash` (0 to begin), over UTF-16 units with surrogates. */
int32_t java_hash(int32_t hash, span text);

typedef struct {
    int32_t flag;
    span body, properties;
} batch_message;

typedef enum { BATCH_MESSAGE, BATCH_END, BATCH_BAD } batch_state;

/* The next message of a batch's body; `rest` moves behind it. BATCH_BAD: Python reports the error; or the properties
 * are not UTF-8, and Python reads them with replacement characters. */
batch_state batch_next(span *rest, batch_message *found);

#endif
