/* The functions that the hub calls for sends: codes 10, 310, 320, 36, 37; and that of calls. `sends` is a `Sends`
 * (sends.h).
 *
 * A group is built by offers and becomes visible with sends_finish, which comes before any other kind of frame of the
 * same read is handled, and before answers are sent. */
#ifndef ROCKETWIRE_SEND_PATH_H
#define ROCKETWIRE_SEND_PATH_H

#include "paths/paths.h"
#include "wire/frame.h"
#include "wire/header.h"
#include "wire/requests.h"

bool sends_ready(PyObject *sends); /* whether any send is taken now; if not, a read's go to Python as one group */
path_result sends_offer(PyObject *sends, const frame *taken, const header *head, path_context *context);
int sends_finish(PyObject *sends, path_context *context);

/* The outcome of a message that came in no frame, but in a call of a 5.x client. */
typedef struct {
    int32_t queue_id;
    int64_t queue_offset;
    span recall_handle;  /* valid until the next one; at == NULL: it is delivered at once */
    span transaction_id; /* as that; of a half message */
    bool waits;
} sent_message;

/* Store such a message; `send` has no escapes, and `Sends` answers nothing. PATH_HANDED_OVER also where answers may
 * have to wait for the disk, and where sends have quotas. */
path_result sends_store(PyObject *sends, const send_request *send, span body, path_context *context,
                        sent_message *sent);

/* The type Sends; NULL before it is made. */
extern PyTypeObject *Sends_Type;

#endif
