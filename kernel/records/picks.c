/* topics_of_records and tags_of_records: values that many records share are looked up once. */

#include "records/records_module.h"

#include "core/values.h"
#include "records/texts.h"

/* The number of a topic in `codes`, which grows; negative: an exception is set. */
static int32_t code_of(PyObject *codes, span topic)
{
    PyObject *name = bytes_of(topic);
    if (name == NULL) return -1;
    PyObject *code = PyDict_GetItemWithError(codes, name); /* borrowed */
    int32_t number = -1;
    if (code != NULL) {
        number = (int32_t)PyLong_AsLong(code);
    } else if (!PyErr_Occurred()) {
        PyObject *next = PyLong_FromSsize_t(PyDict_Size(codes));
        if (next != NULL && PyDict_SetItem(codes, name, next) == 0) number = (int32_t)PyLong_AsLong(next);
        Py_XDECREF(next);
    }
    Py_DECREF(name);
    return number;
}

static bool topics_read(const chosen *of, PyObject *codes, int32_t *results)
{
    lately_one known[LATELY_COUNT] = {{{NULL, 0}, 0}};
    for (size_t i = 0; i < of->count; i++) {
        record_parts record;
        if (!record_there(of->buffer, of->positions[i], &record)) return no_record(of->positions[i]);
        lately_one *one = lately(known, record.topic);
        if (!lately_is(one, record.topic)) {
            int32_t code = code_of(codes, record.topic);
            if (code < 0) return false;
            *one = (lately_one){record.topic, code};
        }
        results[i] = one->found;
    }
    return true;
}

static PyObject *topics_of_records(PyObject *self, PyObject *args)
{
    (void)self;
    chosen of;
    if (!PyArg_ParseTuple(args, "y*y*w*:topics_of_records", &of.views[BUFFER], &of.views[POSITIONS],
                          &of.views[RESULTS])) {
        return NULL;
    }
    PyObject *result = NULL, *codes = PyDict_New();
    if (codes != NULL && chosen_fits(&of, sizeof(int32_t)) && topics_read(&of, codes, of.views[RESULTS].buf)) {
        result = PyDict_Keys(codes);
    }
    Py_XDECREF(codes);
    release(&of);
    return result;
}

/* Whether tags are among the wanted ones; negative: an exception is set. */
static int32_t is_wanted(PyObject *wanted, span tags)
{
    PyObject *text = bytes_of(tags);
    if (text == NULL) return -1;
    int32_t found = PySet_Contains(wanted, text);
    Py_DECREF(text);
    return found;
}

static bool tags_read(const chosen *of, PyObject *wanted, properties_reader *reader, uint8_t *results)
{
    lately_one known[LATELY_COUNT] = {{{NULL, 0}, 0}};
    for (size_t i = 0; i < of->count; i++) {
        record_parts record;
        properties_known properties;
        if (!record_there(of->buffer, of->positions[i], &record)) return no_record(of->positions[i]);
        if (!properties_read(reader, record.text, &properties)) {
            PyErr_NoMemory();
            return false;
        }
        results[i] = false;
        span tags = properties.values[TAGS];
        if (tags.at == NULL) continue;
        lately_one *one = lately(known, tags);
        if (!lately_is(one, tags)) {
            int32_t found = is_wanted(wanted, tags);
            if (found < 0) return false;
            *one = (lately_one){tags, found};
        }
        results[i] = (uint8_t)one->found;
    }
    return true;
}

static PyObject *tags_of_records(PyObject *self, PyObject *args)
{
    (void)self;
    chosen of;
    PyObject *wanted;
    if (!PyArg_ParseTuple(args, "y*y*O!w*:tags_of_records", &of.views[BUFFER], &of.views[POSITIONS], &PyFrozenSet_Type,
                          &wanted, &of.views[RESULTS])) {
        return NULL;
    }
    kept *all = NULL;
    properties_reader reader = {.wanted[TAGS] = true, .kept = &all};
    bool well = chosen_fits(&of, 1) && tags_read(&of, wanted, &reader, of.views[RESULTS].buf);
    properties_done(&reader);
    kept_free(&all);
    release(&of);
    if (!well) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"topics_of_records", topics_of_records, METH_VARARGS,
     "A code for each record's topic; the topics by their codes."},
    {"tags_of_records", tags_of_records, METH_VARARGS, "Whether the tags of each record are among those wanted."},
    {NULL, NULL, 0, NULL},
};

int picks_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
