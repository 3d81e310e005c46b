/* GroupWriter, the twin of store.append.group_writer: appends the drafts that Python made to a group of records.
 *
 * A draft that is not as declared ends a call; the twin continues from there. */

#include "core/kernel.h"

#include "core/values.h"
#include "index/keys.h"
#include "log/drafts.h"
#include "log/record_group.h"

typedef struct {
    PyObject_HEAD
    record_group group;
    PyObject *queues, *create; /* dict of (topic, queue id), and the function that makes a queue */
    PyObject *prepare;         /* for drafts that belong together: makes their queues ready, and gives their bytes */
    PyObject *delay_name;
    PyTypeObject *appended;
    newfunc new_tuple;
    draft_type draft;
    uint8_t store_host[HOST_V6_SIZE];
    size_t store_host_size;
} GroupWriter;

/* One call of `append`. */
typedef struct {
    PyObject *drafts, *results, *touched;
    int64_t now;
    PyObject *topic; /* of the last draft, and its queue; strong references */
    QueueTail *queue;
    bool delayed; /* entries of that queue have the time of delivery in place of a tag code */
    int64_t delay;
} append_call;

/* --- the queue of a draft --- */

/* The queue of a topic and number as a new reference; NULL without an exception: there is none. */
static PyObject *find_queue(const GroupWriter *self, PyObject *topic, PyObject *queue_id)
{
    PyObject *key = PyTuple_Pack(2, topic, queue_id);
    PyObject *queue = key == NULL ? NULL : PyDict_GetItemWithError(self->queues, key);
    Py_XINCREF(queue);
    Py_XDECREF(key);
    return queue;
}

static path_result read_delay(const GroupWriter *self, append_call *in)
{
    PyObject *delay = PyObject_GetAttr((PyObject *)in->queue, self->delay_name);
    if (delay == NULL) {
        return PATH_ERROR;
    }
    in->delayed = delay != Py_None;
    in->delay = in->delayed ? PyLong_AsLongLong(delay) : 0;
    Py_DECREF(delay);
    return PyErr_Occurred() ? PATH_ERROR : PATH_TAKEN;
}

/* Make a draft's queue the call's. */
static path_result enter_queue(const GroupWriter *self, append_call *in, const draft *from)
{
    if (in->queue != NULL && in->queue->queue_id == from->queue_number && in->topic == from->topic) {
        return PATH_TAKEN;
    }
    PyObject *queue = find_queue(self, from->topic, from->queue_id);
    if (queue == NULL && !PyErr_Occurred()) {
        queue = PyObject_CallFunctionObjArgs(self->create, from->topic, from->queue_id, NULL);
    }
    if (queue == NULL) {
        return PATH_ERROR;
    }
    Py_XDECREF((PyObject *)in->queue);
    in->queue = NULL;
    if (!PyObject_TypeCheck(queue, QueueTail_Type)) {
        Py_DECREF(queue);
        return PATH_HANDED_OVER;
    }
    in->queue = (QueueTail *)queue;
    Py_INCREF(from->topic);
    Py_XDECREF(in->topic);
    in->topic = from->topic;
    return read_delay(self, in);
}

/* --- its record --- */

static record record_of(const GroupWriter *self, const append_call *in, const draft *from, const QueueTail *queue)
{
    return (record){
        .topic_field = span_of(PyBytes_AsString(queue->topic_field), (size_t)PyBytes_Size(queue->topic_field)),
        .magic = queue->magic,
        .queue_id = from->queue_number,
        .flag = from->flag,
        .sys_flag = from->sys_flag,
        .reconsume_times = from->reconsume_times,
        .born_timestamp = from->born_timestamp,
        .store_timestamp = in->now,
        .prepared_offset = from->prepared_offset,
        .born_host = from->born_host,
        .store_host = span_of(self->store_host, self->store_host_size),
        .body = from->body,
        .properties = {from->properties},
    };
}

/* Add the bytes of the drafts that follow one and belong to it, and the entries of those for its queue.
 * PATH_HANDED_OVER: Python has to check them. */
static path_result add_rest(const GroupWriter *self, const append_call *in, Py_ssize_t number, Py_ssize_t end,
                            size_t *size, size_t *entries)
{
    bool ready = true;
    for (Py_ssize_t each = number + 1; each < end && ready; each++) {
        draft found;
        ready = draft_read(&self->draft, PyList_GetItem(in->drafts, each), &found);
        PyObject *queue = ready ? find_queue(self, found.topic, found.queue_id) : NULL;
        ready = queue != NULL && PyObject_TypeCheck(queue, QueueTail_Type);
        if (ready) {
            record one = record_of(self, in, &found, (QueueTail *)queue);
            *size += record_size(&one);
            bool same = queue == (PyObject *)in->queue;
            *entries += same;
            ready = same || queue_has_room((QueueTail *)queue, 1);
        }
        Py_XDECREF(queue);
        draft_release(&found);
        if (!clear_exception()) {
            return PATH_ERROR;
        }
    }
    return ready ? PATH_TAKEN : PATH_HANDED_OVER;
}

/* As add_rest, but for entries: Python makes all queues ready. */
static path_result prepare_rest(GroupWriter *self, const append_call *in, Py_ssize_t number, size_t *size)
{
    if (group_publish(&self->group) < 0) {
        return PATH_ERROR;
    }
    PyObject *found = PyObject_CallFunction(self->prepare, "On", in->drafts, number);
    if (found == NULL) {
        return PATH_ERROR;
    }
    *size += PyLong_AsSize_t(found);
    Py_DECREF(found);
    return PyErr_Occurred() ? PATH_ERROR : PATH_TAKEN;
}

static path_result make_room(GroupWriter *self, append_call *in, const draft *from, Py_ssize_t number, size_t size)
{
    size_t entries = 1;
    if (from->together > 1) {
        size_t own = size;
        if (from->together > PyList_Size(in->drafts) - number) {
            return PATH_HANDED_OVER;
        }
        path_result rest = add_rest(self, in, number, number + (Py_ssize_t)from->together, &size, &entries);
        if (rest == PATH_HANDED_OVER) {
            size = own;
            entries = 1;
            rest = prepare_rest(self, in, number, &size);
        }
        if (rest == PATH_ERROR) {
            return PATH_ERROR;
        }
    }
    bool no_entry = from->sys_flag & SYS_FLAG_TRANSACTION_PREPARED;
    return (path_result)group_room(&self->group, no_entry ? NULL : in->queue, entries, size);
}

static record_facts facts_of(const append_call *in, const draft *from)
{
    bool no_entry = from->sys_flag & SYS_FLAG_TRANSACTION_PREPARED,
         hidden = (from->sys_flag & SYS_FLAG_TRANSACTION_MASK) == SYS_FLAG_TRANSACTION_ROLLBACK;
    span none = {NULL, 0};
    return (record_facts){
        .no_entry = no_entry,
        .tags_code = in->delayed ? in->now + in->delay : from->tags_code,
        .unique_key = hidden ? none : from->unique_key,
        .words = hidden ? none : from->keys,
    };
}

static PyObject *new_appended(const GroupWriter *self, const record *stored, size_t size)
{
    PyObject *values[] = {PyLong_FromLongLong(stored->physical_offset), PyLong_FromSize_t(size),
                          PyLong_FromLongLong(stored->queue_offset)};
    return named_tuple_of(self->appended, self->new_tuple, values, 3);
}

/* --- one draft after the other --- */

static path_result append_draft(GroupWriter *self, append_call *in, const draft *from, Py_ssize_t number)
{
    path_result result = enter_queue(self, in, from);
    if (result != PATH_TAKEN) {
        return result;
    }
    record one = record_of(self, in, from, in->queue);
    size_t size = record_size(&one);
    result = make_room(self, in, from, number, size);
    if (result != PATH_TAKEN) {
        return result;
    }
    record_facts facts = facts_of(in, from);
    if (group_add(&self->group, in->queue, &one, size, &facts) < 0) {
        return PATH_ERROR;
    }
    return append_value(in->results, new_appended(self, &one, size)) ? PATH_TAKEN : PATH_ERROR;
}

/* Whether the flag has the kind of the hosts. */
static bool flag_fits(const GroupWriter *self, const draft *from)
{
    int32_t hosts = from->born_host.len == HOST_V6_SIZE ? SYS_FLAG_BORN_HOST_V6 : 0;
    if (self->store_host_size == HOST_V6_SIZE) {
        hosts |= SYS_FLAG_STORE_HOST_V6;
    }
    return !(from->sys_flag & RECORD_HOST_BITS & ~hosts);
}

static path_result append_number(GroupWriter *self, append_call *in, Py_ssize_t number)
{
    PyObject *object = PyList_GetItem(in->drafts, number);
    if (object == NULL) {
        return PATH_ERROR;
    }
    draft from;
    Py_INCREF(object);
    path_result result = PATH_HANDED_OVER;
    if (draft_read(&self->draft, object, &from) && flag_fits(self, &from)) {
        result = append_draft(self, in, &from, number);
    }
    draft_release(&from);
    Py_DECREF(object);
    return result;
}

static bool give_touched(GroupWriter *self, PyObject *set)
{
    PyObject *touched = group_take_touched(&self->group);
    bool given = touched != NULL;
    for (Py_ssize_t each = 0; given && each < PyList_Size(touched); each++) {
        given = PySet_Add(set, PyList_GetItem(touched, each)) == 0;
    }
    Py_XDECREF(touched);
    return given;
}

/* Publish the written records and hand their keys to the index, whatever happened before. */
static path_result finish(GroupWriter *self, append_call *in, path_result result)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    bool published = group_publish(&self->group) == 0;
    bool done = give_touched(self, in->touched) && published;
    if (done || result == PATH_ERROR) {
        PyErr_Restore(type, value, trace); /* the first one, if there is one */
    }
    return done ? result : PATH_ERROR;
}

static PyObject *append(PyObject *object, PyObject *arguments)
{
    GroupWriter *self = (GroupWriter *)object;
    long long now;
    append_call in = {0};
    if (!PyArg_ParseTuple(arguments, "OO!O!L:append", &in.drafts, &PyList_Type, &in.results, &PySet_Type, &in.touched,
                          &now)) {
        return NULL;
    }
    if (!PyList_Check(in.drafts)) {
        Py_RETURN_NONE; /* handed over */
    }
    in.now = now;
    path_result result = PATH_TAKEN;
    for (Py_ssize_t each = 0; each < PyList_Size(in.drafts) && result == PATH_TAKEN; each++) {
        result = append_number(self, &in, each);
    }
    result = finish(self, &in, result);
    Py_XDECREF(in.topic);
    Py_XDECREF((PyObject *)in.queue);
    if (result == PATH_ERROR) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* --- the type --- */

static bool init(GroupWriter *self, PyObject *arguments)
{
    PyObject *log, *keys, *draft, *appended;
    const char *host;
    Py_ssize_t host_size;
    if (!PyArg_ParseTuple(arguments, "O!O!OOy#OO!O:GroupWriter", LogTail_Type, &log, &PyDict_Type, &self->queues,
                          &self->create, &keys, &host, &host_size, &draft, &PyType_Type, &appended, &self->prepare)) {
        self->queues = self->create = self->prepare = NULL;
        return false;
    }
    Py_INCREF(self->queues);
    Py_INCREF(self->create);
    Py_INCREF(self->prepare);
    self->appended = (PyTypeObject *)Py_NewRef(appended);
    self->new_tuple = named_tuple_maker(self->appended);
    if (self->new_tuple == NULL) {
        return false;
    }
    if ((keys != Py_None && !PyObject_TypeCheck(keys, KeyColumn_Type)) ||
        (host_size != HOST_V4_SIZE && host_size != HOST_V6_SIZE)) {
        PyErr_SetString(PyExc_TypeError, "keys are no KeyColumn, or the host has another size");
        return false;
    }
    memcpy(self->store_host, host, (size_t)host_size);
    self->store_host_size = (size_t)host_size;
    self->delay_name = PyUnicode_InternFromString("delay");
    PyObject *make_room = PyObject_GetAttrString(log, "make_room");
    bool made = self->delay_name != NULL && make_room != NULL && draft_type_init(&self->draft, draft) &&
                group_init(&self->group, (LogTail *)log, make_room, keys);
    Py_XDECREF(make_room);
    return made;
}

static PyObject *new_writer(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)keywords;
    GroupWriter *self = object_new(type);
    if (self != NULL && !init(self, arguments)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void dealloc(PyObject *object)
{
    GroupWriter *self = (GroupWriter *)object;
    PyObject *held[] = {self->queues, self->create, self->prepare, self->delay_name, (PyObject *)self->appended};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        Py_XDECREF(held[i]);
    }
    group_free(&self->group);
    draft_type_clear(&self->draft);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"append", append, METH_VARARGS, "Append drafts until one is for the twin: see store.append.group_writer."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The writer of groups of drafts: see store.append.group_writer."},
    {Py_tp_new, new_writer},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

/* Not part of a cycle: the objects it holds do not refer to it. */
static PyType_Spec spec = {
    .name = "rocketwire._kernel.GroupWriter",
    .basicsize = sizeof(GroupWriter),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int group_writer_init(PyObject *module) { return add_type(module, &spec, NULL); }
