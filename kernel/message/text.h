/* Texts of messages: properties as a client writes them and as they are stored, batches, Java's hash of a string.
 * The twins are wire.fast.stored_properties, wire.fast.batch_messages and wire.java.string_hash. */
#ifndef ROCKETWIRE_TEXT_H
#define ROCKETWIRE_TEXT_H

#include "core/span.h"

typedef enum { WAIT_ABSENT, WAIT_TRUE, WAIT_OTHER } wait_property; /* "true" in any case of letters; anything else */

/* When a message is to be delivered: so many seconds or milliseconds from now, or at a time in ms since 1970. */
typedef enum { TIME_ABSENT, TIME_SECONDS, TIME_MILLISECONDS, TIME_AT } time_property;

typedef struct {
    size_t length;               /* of what was written */
    span unique_key, keys, tags; /* in what was written, or looked at: the last with a value; at == NULL: none */
    wait_property wait;
    bool steering;      /* a property that changes when or where the message is delivered */
    bool sharded;       /* a sharding key, by which an ordered message's queue was chosen */
    bool nul;           /* a NUL character in what was written, or looked at: for Python, which refuses it */
    time_property time; /* rewritten ones: that property, if it is the only one that steers */
    span time_text;     /* its value */
    span wait_text;     /* that of WAIT, in the text that was given; at == NULL: none */
    bool placed;        /* the message says already when or where it is delivered, as one does that waited before */
} properties_found;

/* Rewrite a client's property text (unescaped, valid UTF-8) as it is stored: WAIT, empty items and its own CLUSTER
 * dropped, `cluster_item` at the end. `to` has room for text.len + cluster_item.len + 1 bytes. */
void properties_rewrite(span text, span cluster_item, uint8_t *to, properties_found *found);

/* What the broker reads out of a message's property text that is stored as it is (a batch's). WAIT is not looked at:
 * that of the batch's header counts. */
void properties_look(span text, properties_found *found);

/* String.hashCode of valid UTF-8, going on from `hash` (0 to begin): UTF-16 units, surrogates for what is beyond. */
int32_t java_hash(int32_t hash, span text);

typedef struct {
    int32_t flag;
    span body, properties;
} batch_message;

typedef enum { BATCH_MESSAGE, BATCH_END, BATCH_BAD } batch_state;

/* The next message of a batch's body; `rest` moves behind it. BATCH_BAD: Python says what is wrong; or the properties
 * are no UTF-8, and Python reads them with replacement characters. */
batch_state batch_next(span *rest, batch_message *found);

#endif
