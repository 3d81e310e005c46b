#include "log/drafts.h"

#include "message/properties.h"

static const char *const names[DRAFT_FIELDS] = {
    "topic",     "queue_id",       "body",      "properties",      "flag",
    "sys_flag",  "born_timestamp", "born_host", "reconsume_times", "prepared_offset",
    "tags_code", "unique_key",     "keys",      "group_size",
};

bool draft_type_init(draft_type *type, PyObject *draft)
{
    for (int i = 0; i < DRAFT_FIELDS; i++) {
        type->descriptors[i] = PyObject_GetAttrString(draft, names[i]);
        if (type->descriptors[i] == NULL) {
            return false;
        }
        type->get[i] = (descrgetfunc)PyType_GetSlot(Py_TYPE(type->descriptors[i]), Py_tp_descr_get);
        if (type->get[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s is no field", names[i]);
            return false;
        }
    }
    return true;
}

void draft_type_clear(draft_type *type)
{
    for (int i = 0; i < DRAFT_FIELDS; i++) {
        Py_CLEAR(type->descriptors[i]);
    }
}

static PyObject *draft_field(const draft_type *type, PyObject *from, int field)
{
    return type->get[field](type->descriptors[field], from, (PyObject *)Py_TYPE(from));
}

static bool number_field(const draft_type *type, PyObject *from, int field, int64_t *value)
{
    PyObject *number = draft_field(type, from, field);
    if (number == NULL) {
        return false;
    }
    *value = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return *value != -1 || !PyErr_Occurred();
}

static bool int32_field(const draft_type *type, PyObject *from, int field, int32_t *value)
{
    int64_t wide;
    *value = 0;
    if (!number_field(type, from, field, &wide) || wide < INT32_MIN || wide > INT32_MAX) {
        return false;
    }
    *value = (int32_t)wide;
    return true;
}

static bool bytes_field(const draft_type *type, PyObject *from, int field, draft *found, span *value)
{
    PyObject *bytes = found->owners[found->owned] = draft_field(type, from, field);
    if (bytes == NULL) {
        return false;
    }
    found->owned++;
    if (PyBytes_Check(bytes)) {
        char *at;
        Py_ssize_t length;
        PyBytes_AsStringAndSize(bytes, &at, &length);
        *value = span_of(at, (size_t)length);
        return true;
    }
    Py_buffer *view = &found->views[found->viewed];
    if (PyObject_GetBuffer(bytes, view, PyBUF_SIMPLE) < 0) {
        return false;
    }
    found->viewed++;
    *value = span_of(view->buf, (size_t)view->len);
    return view->itemsize == 1;
}

/* The text of a key, or none; false: it is not UTF-8 (half a surrogate pair). */
static bool key_field(const draft_type *type, PyObject *from, int field, draft *found, span *value)
{
    PyObject *key = found->owners[found->owned] = draft_field(type, from, field);
    if (key == NULL) {
        return false;
    }
    found->owned++;
    *value = span_of(NULL, 0);
    if (key == Py_None) {
        return true;
    }
    Py_ssize_t length;
    const char *at = PyUnicode_AsUTF8AndSize(key, &length);
    *value = span_of(at, at == NULL ? 0 : (size_t)length);
    return at != NULL;
}

static bool read_fields(const draft_type *type, PyObject *from, draft *found)
{
    return (found->topic = draft_field(type, from, DRAFT_TOPIC)) != NULL &&
           (found->queue_id = draft_field(type, from, DRAFT_QUEUE_ID)) != NULL &&
           int32_field(type, from, DRAFT_QUEUE_ID, &found->queue_number) &&
           bytes_field(type, from, DRAFT_BODY, found, &found->body) &&
           bytes_field(type, from, DRAFT_PROPERTIES, found, &found->properties) &&
           int32_field(type, from, DRAFT_FLAG, &found->flag) &&
           int32_field(type, from, DRAFT_SYS_FLAG, &found->sys_flag) &&
           number_field(type, from, DRAFT_BORN_TIMESTAMP, &found->born_timestamp) &&
           bytes_field(type, from, DRAFT_BORN_HOST, found, &found->born_host) &&
           int32_field(type, from, DRAFT_RECONSUME_TIMES, &found->reconsume_times) &&
           number_field(type, from, DRAFT_PREPARED_OFFSET, &found->prepared_offset) &&
           number_field(type, from, DRAFT_TAGS_CODE, &found->tags_code) &&
           key_field(type, from, DRAFT_UNIQUE_KEY, found, &found->unique_key) &&
           key_field(type, from, DRAFT_KEYS, found, &found->keys) &&
           number_field(type, from, DRAFT_TOGETHER, &found->together);
}

bool draft_read(const draft_type *type, PyObject *from, draft *found)
{
    memset(found, 0, sizeof *found);
    if (!read_fields(type, from, found)) {
        PyErr_Clear();
        return false;
    }
    return (found->born_host.len == HOST_V4_SIZE || found->born_host.len == HOST_V6_SIZE) &&
           found->properties.len <= MAX_PROPERTIES_LENGTH && found->body.len <= INT32_MAX / 2;
}

void draft_release(draft *found)
{
    while (found->viewed > 0) {
        PyBuffer_Release(&found->views[--found->viewed]);
    }
    while (found->owned > 0) {
        Py_DECREF(found->owners[--found->owned]);
    }
    Py_CLEAR(found->topic);
    Py_CLEAR(found->queue_id);
}
