/* Decodes a store.append.drafts.Draft: its fields as values of C, if they have their declared types. */
#ifndef ROCKETWIRE_DRAFTS_H
#define ROCKETWIRE_DRAFTS_H

#include "core/kernel.h"

#include "core/facts.h"
#include "core/span.h"

enum {
    DRAFT_TOPIC,
    DRAFT_QUEUE_ID,
    DRAFT_BODY,
    DRAFT_PROPERTIES,
    DRAFT_FLAG,
    DRAFT_SYS_FLAG,
    DRAFT_BORN_TIMESTAMP,
    DRAFT_BORN_HOST,
    DRAFT_RECONSUME_TIMES,
    DRAFT_PREPARED_OFFSET,
    DRAFT_TAGS_CODE,
    DRAFT_UNIQUE_KEY,
    DRAFT_KEYS,
    DRAFT_TOGETHER,
    DRAFT_FIELDS
};

/* The descriptors of Draft's fields: half the price of looking each one up by its name. */
typedef struct {
    PyObject *descriptors[DRAFT_FIELDS];
    descrgetfunc get[DRAFT_FIELDS];
} draft_type;

bool draft_type_init(draft_type *type, PyObject *draft); /* false: an exception is set */
void draft_type_clear(draft_type *type);

typedef struct {
    PyObject *topic, *queue_id; /* strong references */
    int32_t queue_number, flag, sys_flag, reconsume_times;
    int64_t born_timestamp, prepared_offset, tags_code, together;
    span body, properties, born_host, unique_key, keys; /* a key's at == NULL: not there */
    PyObject *owners[5];                                /* of the spans */
    Py_buffer views[3];
    int owned, viewed;
} draft;

/* Decode one. False: a field is not as declared, or does not fit a record; no exception is set. In both cases
 * draft_release releases its references. */
bool draft_read(const draft_type *type, PyObject *from, draft *found);
void draft_release(draft *found);

#endif
