/* The type AppendLoop, and what it does with one draft; see append.h. */

#include "log/append.h"

#include "index/keys.h"
#include "message/record.h"

enum { NOT_FOR_CONSUMERS = 4, ROLLED_BACK = 8, BORN_HOST_V6 = 0x10, STORE_HOST_V6 = 0x20 };

static PyObject *new_appended(const AppendLoop *self, int64_t physical_offset, int64_t size, int64_t queue_offset)
{
    PyObject *numbers[] = {PyLong_FromLongLong(physical_offset), PyLong_FromLongLong(size),
                           PyLong_FromLongLong(queue_offset)};
    bool made = numbers[0] != NULL && numbers[1] != NULL && numbers[2] != NULL;
    PyObject *values = made ? PyTuple_Pack(3, numbers[0], numbers[1], numbers[2]) : NULL;
    PyObject *arguments = values == NULL ? NULL : PyTuple_Pack(1, values);
    PyObject *result = arguments == NULL ? NULL : self->new_tuple(self->appended, arguments, NULL);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(numbers[i]);
    }
    Py_XDECREF(values);
    Py_XDECREF(arguments);
    return result;
}

static outcome add_keys(AppendLoop *self, const group *in, const draft *from)
{
    if (self->keys == NULL) {
        return DONE;
    }
    bool hidden = (from->sys_flag & NOT_FOR_CONSUMERS) && (from->sys_flag & ROLLED_BACK);
    span none = {NULL, 0};
    int added = key_column_add(self->keys, in->queue->index_prefix_hash, hidden ? none : from->unique_key,
                               hidden ? none : from->keys, in->at, in->now);
    if (added < 0) {
        PyErr_NoMemory();
    }
    return added < 0 ? FAILED : DONE;
}

static void write_record(AppendLoop *self, group *in, const draft *from, int64_t queue_offset, size_t size)
{
    LogTail *log = self->log;
    record wanted = {
        .topic_field = span_of(PyBytes_AsString(in->queue->topic_field), (size_t)PyBytes_Size(in->queue->topic_field)),
        .magic = in->queue->magic,
        .queue_id = from->queue_number,
        .flag = from->flag,
        .sys_flag = from->sys_flag,
        .reconsume_times = from->reconsume_times,
        .queue_offset = queue_offset,
        .physical_offset = in->at,
        .born_timestamp = from->born_timestamp,
        .store_timestamp = in->now,
        .prepared_offset = from->prepared_offset,
        .born_host = from->born_host,
        .store_host = span_of(self->store_host, self->store_host_size),
        .body = from->body,
        .properties = {from->properties},
    };
    bool whole = in->at != log->position;
    if (!whole) {
        in->first_size = (int32_t)size;
    }
    record_write((uint8_t *)log->view.buf + (in->at - log->base), &wanted, size, whole);
}

/* Write a draft's record, for which there is room, and remember its entry and its keys. */
static outcome put_draft(AppendLoop *self, group *in, const draft *from, int64_t size)
{
    bool has_entry = !(from->sys_flag & NOT_FOR_CONSUMERS);
    QueueTail *queue = in->queue;
    int64_t queue_offset = has_entry ? queue->end + queue->pending : 0;
    PyObject *appended = new_appended(self, in->at, size, queue_offset);
    if (appended == NULL || add_keys(self, in, from) == FAILED) {
        Py_XDECREF(appended);
        return FAILED;
    }
    write_record(self, in, from, queue_offset, (size_t)size);
    if (has_entry) {
        int64_t tags_code = in->delayed ? in->now + in->delay : from->tags_code;
        in->entries[in->used++] = (entry){(QueueTail *)Py_NewRef((PyObject *)queue), in->at, tags_code, (int32_t)size};
        queue->pending++;
    }
    in->at += size;
    in->done++;
    int added = PyList_Append(in->results, appended);
    Py_DECREF(appended);
    return added < 0 ? FAILED : DONE;
}

static outcome append_draft(AppendLoop *self, group *in, const draft *from, Py_ssize_t number)
{
    outcome result = append_enter_queue(self, in, from);
    if (result != DONE) {
        return result;
    }
    int64_t size = append_overhead(self, from->born_host.len, in->queue);
    size += (int64_t)(from->body.len + from->properties.len);
    int64_t wanted = size, entries = 1;
    if (from->together > 1) {
        result = append_size_behind(self, in, from, number, &wanted, &entries);
    }
    if (result == DONE) {
        result = append_log_room(self, in, wanted);
    }
    if (result == DONE && !(from->sys_flag & NOT_FOR_CONSUMERS)) {
        result = append_entry_room(self, in, entries);
    }
    return result == DONE ? put_draft(self, in, from, size) : result;
}

/* Whether the flag says of the hosts what they are. */
static bool flag_fits(const AppendLoop *self, const draft *from)
{
    int32_t hosts = from->born_host.len == HOST_V6_SIZE ? BORN_HOST_V6 : 0;
    if (self->store_host_size == HOST_V6_SIZE) {
        hosts |= STORE_HOST_V6;
    }
    return !(from->sys_flag & (BORN_HOST_V6 | STORE_HOST_V6) & ~hosts);
}

static outcome append_number(AppendLoop *self, group *in, Py_ssize_t number)
{
    PyObject *object = PyList_GetItem(in->drafts, number);
    if (object == NULL) {
        return FAILED;
    }
    draft from;
    Py_INCREF(object);
    outcome result = HANDED_OVER;
    if (draft_read(&self->draft, object, &from) && flag_fits(self, &from)) {
        result = append_draft(self, in, &from, number);
    }
    draft_release(&from);
    Py_DECREF(object);
    return result;
}

/* Publish the written records and hand their keys to the index, whatever happened before. */
static outcome finish(AppendLoop *self, group *in, int64_t start, outcome result)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    bool done = append_publish(self, in);
    if (self->keys != NULL && in->done > 0 && key_column_group(self->keys, start, self->log->position) < 0) {
        PyErr_NoMemory();
        done = false;
    }
    if (done || result == FAILED) {
        PyErr_Restore(type, value, trace); /* the first one, if there is one */
    }
    return done ? result : FAILED;
}

static PyObject *append(PyObject *object, PyObject *arguments)
{
    AppendLoop *self = (AppendLoop *)object;
    long long now;
    group in = {0};
    if (!PyArg_ParseTuple(arguments, "OO!O!L:append", &in.drafts, &PyList_Type, &in.results, &PySet_Type, &in.touched,
                          &now)) {
        return NULL;
    }
    if (!PyList_Check(in.drafts)) {
        Py_RETURN_NONE; /* handed over */
    }
    Py_ssize_t count = PyList_Size(in.drafts);
    in.entries = PyMem_Malloc((size_t)count * sizeof(entry));
    if (in.entries == NULL) {
        return PyErr_NoMemory();
    }
    in.now = now;
    int64_t start = in.at = self->log->position;
    outcome result = DONE;
    for (Py_ssize_t i = 0; i < count && result == DONE; i++) {
        result = append_number(self, &in, i);
    }
    result = finish(self, &in, start, result);
    PyMem_Free(in.entries);
    Py_XDECREF(in.topic);
    Py_XDECREF((PyObject *)in.queue);
    if (result == FAILED) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* --- the type --- */

static bool init(AppendLoop *self, PyObject *arguments)
{
    PyObject *log, *keys, *draft, *appended;
    const char *host;
    Py_ssize_t host_size;
    if (!PyArg_ParseTuple(arguments, "O!O!OOy#OO!O:AppendLoop", LogTail_Type, &log, &PyDict_Type, &self->queues,
                          &self->create, &keys, &host, &host_size, &draft, &PyType_Type, &appended,
                          &self->size_behind)) {
        self->queues = self->create = self->size_behind = NULL;
        return false;
    }
    self->log = (LogTail *)Py_NewRef(log);
    Py_INCREF(self->queues);
    Py_INCREF(self->create);
    Py_INCREF(self->size_behind);
    self->keys = keys == Py_None ? NULL : Py_NewRef(keys);
    self->appended = (PyTypeObject *)Py_NewRef(appended);
    self->new_tuple = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
    if ((self->keys != NULL && !PyObject_TypeCheck(keys, KeyColumn_Type)) ||
        !PyType_IsSubtype(self->appended, &PyTuple_Type) || (host_size != HOST_V4_SIZE && host_size != HOST_V6_SIZE)) {
        PyErr_SetString(PyExc_TypeError, "keys are no KeyColumn, Appended is no tuple, or the host has another size");
        return false;
    }
    memcpy(self->store_host, host, (size_t)host_size);
    self->store_host_size = (size_t)host_size;
    self->delay_name = PyUnicode_InternFromString("delay");
    return self->delay_name != NULL && draft_type_init(&self->draft, draft);
}

static PyObject *new_loop(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)keywords;
    PyObject *self = PyType_GenericNew(type, arguments, NULL);
    if (self != NULL && !init((AppendLoop *)self, arguments)) {
        Py_CLEAR(self);
    }
    return self;
}

static void dealloc(PyObject *object)
{
    AppendLoop *self = (AppendLoop *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject *held[] = {
        (PyObject *)self->log,     self->queues, self->create, self->keys, self->size_behind, self->delay_name,
        (PyObject *)self->appended};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        Py_XDECREF(held[i]);
    }
    draft_type_clear(&self->draft);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"append", append, METH_VARARGS, "Append drafts until one is for the twin: see store.append.append_loop."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The loop over drafts: see store.append.append_loop."},
    {Py_tp_new, new_loop},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

/* Not part of a cycle: the objects it holds do not refer to it. */
static PyType_Spec spec = {
    .name = "rocketwire._kernel.AppendLoop",
    .basicsize = sizeof(AppendLoop),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int append_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int added = type == NULL ? -1 : PyModule_AddObjectRef(module, "AppendLoop", type);
    Py_XDECREF(type);
    return added;
}
