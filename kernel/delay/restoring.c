/* Makes drafts and index rows of waiting messages from their records, if these are plain: see
 * server.messages.restoring. */

#include "core/kernel.h"

#include "core/utf8.h"
#include "core/values.h"
#include "delay/waited.h"
#include "log/drafts.h"
#include "message/text.h"

enum { LAST_GIVEN = DRAFT_KEYS + 1, DUE_FIELDS = 5, WAITING_FIELDS = 5 };

/* A value that many records of a group share, made once: a Python object and the bytes that it is made of. */
typedef struct {
    PyObject *value;
    span text;
} kept;

/* One call. */
typedef struct {
    PyObject *draft; /* the class */
    Py_buffer view;  /* of the log, or of one record */
    int64_t start;   /* place of its first byte */
    int64_t end;     /* behind the last one that is written */
    int64_t now;
    kept topic, born_host;
} restoring;

static PyObject *text_of(span text)
{
    return PyUnicode_DecodeUTF8((const char *)text.at, (Py_ssize_t)text.len, "replace");
}

static PyObject *text_or_none(span text) { return text.at == NULL ? Py_NewRef(Py_None) : text_of(text); }

/* A new reference to the value that `make` makes of a text, which is mostly the same as the one before. */
static PyObject *keep(kept *last, span text, PyObject *(*make)(span))
{
    if (last->value == NULL || !span_is(text, (const char *)last->text.at, last->text.len)) {
        Py_XDECREF(last->value);
        last->value = make(text);
        last->text = text;
    }
    return Py_XNewRef(last->value);
}

/* Whether it may be delivered to the topic and queue that it names. */
static bool has_destination(const waited *from, int64_t *queue_id)
{
    span topic = from->values[WAITED_TOPIC];
    return topic.at != NULL && utf8_valid(topic) && waited_number(from->values[WAITED_QUEUE_ID], INT32_MAX, queue_id) &&
           !span_is(topic, &TIMER_TOPIC_FIELD[1], WAITED_FIELD_SIZE - 1) && !span_is_text(topic, TRANS_HALF_TOPIC);
}

/* Whether its time is in the future. */
static bool is_early(const waited *from, int64_t now)
{
    int64_t out;
    return waited_number(from->values[WAITED_OUT], INT64_MAX, &out) && out > now;
}

/* Whether the new draft is plain: the names to keep for it are text. */
static bool is_plain(const waited *from)
{
    span tags = from->values[WAITED_TAGS];
    return !from->nul && (tags.at == NULL || utf8_valid(tags));
}

static PyObject *new_draft(restoring *in, const waited *from, span topic, int64_t queue_id, span properties,
                           int64_t prepared)
{
    span tags = from->values[WAITED_TAGS];
    PyObject *values[LAST_GIVEN] = {
        [DRAFT_TOPIC] = keep(&in->topic, topic, text_of),
        [DRAFT_QUEUE_ID] = PyLong_FromLongLong(queue_id),
        [DRAFT_BODY] = bytes_of(from->body),
        [DRAFT_PROPERTIES] = bytes_of(properties),
        [DRAFT_FLAG] = PyLong_FromLong(from->flag),
        [DRAFT_SYS_FLAG] = PyLong_FromLong(from->sys_flag),
        [DRAFT_BORN_TIMESTAMP] = PyLong_FromLongLong(from->born_timestamp),
        [DRAFT_BORN_HOST] = keep(&in->born_host, from->born_host, bytes_of),
        [DRAFT_RECONSUME_TIMES] = PyLong_FromLong(from->reconsume_times),
        [DRAFT_PREPARED_OFFSET] = PyLong_FromLongLong(prepared),
        [DRAFT_TAGS_CODE] = PyLong_FromLong(tags.at == NULL ? 0 : java_hash(0, tags)),
        [DRAFT_UNIQUE_KEY] = text_or_none(from->values[WAITED_UNIQUE_KEY]),
        [DRAFT_KEYS] = text_or_none(from->values[WAITED_KEYS]),
    };
    PyObject *arguments = tuple_of(values, LAST_GIVEN);
    PyObject *result = arguments == NULL ? NULL : PyObject_Call(in->draft, arguments, NULL);
    Py_XDECREF(arguments);
    return result;
}

/* The record at a position, or none: it is not in the given part of the log. */
static span record_at(const restoring *in, int64_t place, int64_t size)
{
    if (in->start < 0 || in->end < in->start || in->end - in->start > in->view.len) {
        return span_of(NULL, 0);
    }
    int64_t held = in->end - in->start;
    if (place < in->start || size < 0 || size > held || place - in->start > held - size) {
        return span_of(NULL, 0);
    }
    return span_of((const uint8_t *)in->view.buf + (place - in->start), (size_t)size);
}

/* A draft of the timer message at a place, to be delivered or, `rolls`, to wait once more; None: it is for Python. */
static PyObject *again(restoring *in, int64_t place, int64_t size, int64_t enqueued, bool rolls)
{
    waited from;
    span record = record_at(in, place, size);
    int64_t queue_id = 0;
    if (record.at == NULL || !waited_read(record, TIMER_TOPIC_FIELD, &from) || from.size != size ||
        from.physical_offset != place || !is_plain(&from) || from.twice ||
        (!rolls && (is_early(&from, in->now) || !has_destination(&from, &queue_id)))) {
        Py_RETURN_NONE;
    }
    int64_t numbers[] = {0, enqueued, in->now};
    waited_number(from.values[WAITED_ROLL_TIMES], INT32_MAX - 1, &numbers[0]);
    numbers[0]++;
    int first = rolls ? WAITED_ROLL_TIMES : WAITED_ENQUEUE;
    uint8_t room[MAX_PROPERTIES_LENGTH + WAITED_ROOM];
    span properties = span_of(room, waited_rewrite(&from, first, &numbers[first - WAITED_ROLL_TIMES], room));
    if (properties.len > MAX_PROPERTIES_LENGTH) {
        Py_RETURN_NONE;
    }
    span topic = rolls ? span_of(&TIMER_TOPIC_FIELD[1], WAITED_FIELD_SIZE - 1) : from.values[WAITED_TOPIC];
    return new_draft(in, &from, topic, queue_id, properties, place);
}

/* Read numbers out of a tuple. False: an exception is set. */
static bool numbers_of(PyObject *tuple, int64_t *numbers, Py_ssize_t count)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != count) {
        PyErr_SetString(PyExc_TypeError, "a unit that is due is a tuple of five numbers");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return false;
        }
    }
    return true;
}

static void release(restoring *in)
{
    PyBuffer_Release(&in->view);
    Py_XDECREF(in->topic.value);
    Py_XDECREF(in->born_host.value);
}

static PyObject *stored_again(PyObject *self, PyObject *args)
{
    (void)self;
    restoring in = {0};
    PyObject *due;
    long long start, end, now;
    if (!PyArg_ParseTuple(args, "Oy*LLO!L:stored_again", &in.draft, &in.view, &start, &end, &PyList_Type, &due, &now)) {
        return NULL;
    }
    in.start = start, in.end = end, in.now = now;
    PyObject *result = PyList_New(0);
    for (Py_ssize_t i = 0; result != NULL && i < PyList_Size(due); i++) {
        int64_t numbers[DUE_FIELDS];
        if (!numbers_of(PyList_GetItem(due, i), numbers, DUE_FIELDS) ||
            !append_value(result, again(&in, numbers[0], numbers[1], numbers[2], numbers[4] != 0))) {
            Py_CLEAR(result);
        }
    }
    release(&in);
    return result;
}

static PyObject *restored_delayed(PyObject *self, PyObject *args)
{
    (void)self;
    restoring in = {0};
    if (!PyArg_ParseTuple(args, "Oy*:restored_delayed", &in.draft, &in.view)) {
        return NULL;
    }
    waited from;
    int64_t queue_id;
    PyObject *result = Py_None;
    if (waited_read(span_of(in.view.buf, (size_t)in.view.len), SCHEDULE_TOPIC_FIELD, &from) && is_plain(&from) &&
        has_destination(&from, &queue_id)) {
        result = new_draft(&in, &from, from.values[WAITED_TOPIC], queue_id, from.properties, 0);
    } else {
        Py_INCREF(result);
    }
    release(&in);
    return result;
}

/* The fields of a record for the timer's index; None: it is for Python. */
static PyObject *waiting_of(PyTypeObject *type, newfunc make, span record, int64_t place)
{
    waited from;
    int64_t out;
    if (!waited_read(record, TIMER_TOPIC_FIELD, &from) || (uint32_t)from.magic != 0xDAA320A7u ||
        from.values[WAITED_TOPIC].at == NULL || !utf8_valid(from.values[WAITED_TOPIC]) ||
        !waited_number(from.values[WAITED_OUT], INT64_MAX, &out)) {
        Py_RETURN_NONE;
    }
    PyObject *values[WAITING_FIELDS] = {
        PyLong_FromLongLong(out),
        PyLong_FromLongLong(place),
        PyLong_FromSize_t(record.len),
        PyLong_FromLong(java_hash(0, from.values[WAITED_TOPIC])),
        PyBool_FromLong(from.values[WAITED_CANCELS].at != NULL),
    };
    return named_tuple_of(type, make, values, WAITING_FIELDS);
}

static PyObject *waiting_in(PyObject *self, PyObject *args)
{
    (void)self;
    restoring in = {0};
    Py_buffer entries;
    PyTypeObject *type;
    long long start, end;
    if (!PyArg_ParseTuple(args, "O!y*LLy*:waiting_in", &PyType_Type, &type, &in.view, &start, &end, &entries)) {
        return NULL;
    }
    in.start = start, in.end = end;
    newfunc make = named_tuple_maker(type);
    PyObject *result = make == NULL ? NULL : PyList_New(0);
    const uint8_t *at = entries.buf;
    for (Py_ssize_t left = entries.len; result != NULL && left >= QUEUE_ENTRY_SIZE;
         left -= QUEUE_ENTRY_SIZE, at += QUEUE_ENTRY_SIZE) {
        int64_t place = (int64_t)get64(at);
        span record = record_at(&in, place, (int32_t)get32(at + QUEUE_ENTRY_SIZE_AT));
        if (record.at == NULL) {
            break;
        }
        if (!append_value(result, waiting_of(type, make, record, place))) {
            Py_CLEAR(result);
        }
    }
    PyBuffer_Release(&entries);
    release(&in);
    return result;
}

static PyMethodDef functions[] = {
    {"stored_again", stored_again, METH_VARARGS, "Drafts of timer messages in a part of the log; None: for Python."},
    {"restored_delayed", restored_delayed, METH_VARARGS, "The draft of a delayed message; None: for Python."},
    {"waiting_in", waiting_in, METH_VARARGS, "Rows for the timer's index, as far as the part of the log goes."},
    {NULL, NULL, 0, NULL},
};

int restoring_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
