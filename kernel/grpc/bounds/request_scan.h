/* Counts the fields and entries of a request on its bytes, as rocketwire.wire.grpc.request_scan does. */
#ifndef ROCKETWIRE_REQUEST_SCAN_H
#define ROCKETWIRE_REQUEST_SCAN_H

#include "core/span.h"

enum { SCAN_WITHIN = 0, SCAN_MALFORMED = -1, SCAN_FIELDS = -2, SCAN_NUMBERS = 32, SCAN_NO_MESSAGE = -1 };

typedef struct {
    uint32_t most;   /* entries in one message; 0: it is not repeated */
    int16_t message; /* its place among the messages, or SCAN_NO_MESSAGE */
    int8_t counter;  /* of its entries, if it is repeated */
    bool packed;     /* one field may have several entries */
} scan_field;

enum { SCAN_COUNTERS = 4 /* repeated fields of one message */ };

typedef struct {
    scan_field fields[SCAN_NUMBERS]; /* by number */
    size_t counters;
} scan_message;

/* What is wrong with a request that is one of these messages, and may have so many fields: one of the above, or the
 * place of the field with too many entries. */
int request_scan(const scan_message *messages, size_t message, span request, size_t most_fields);

#endif
