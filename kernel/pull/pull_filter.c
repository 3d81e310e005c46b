/* Decisions about values of properties: see pull_filter.h. */

#include "pull/pull_filter.h"

#include <stdlib.h>

#include "message/properties.h"

static char yes, no; /* the values of the table: their addresses */

static void keep(void *decision) { (void)decision; }

bool pull_filter_init(plan_table *decided) { return plans_init(decided, keep); }

void pull_filter_free(pull_filter *filter)
{
    if (filter != NULL) {
        Py_XDECREF(filter->kept);
        Py_XDECREF(filter->wanted);
        free(filter);
    }
}

int pull_filter_traverse(const pull_filter *filter, visitproc visit, void *arg)
{
    if (filter != NULL) {
        Py_VISIT(filter->kept);
        Py_VISIT(filter->wanted);
    }
    return 0;
}

pull_filter *pull_filter_new(PyObject *from, uint64_t number, plan_table *decided)
{
    PyObject *names, *wanted;
    long long most_text;
    if (!PyArg_ParseTuple(from, "O!OL", &PyTuple_Type, &names, &wanted, &most_text)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_Size(names);
    if (count > FILTER_NAMES_MOST) {
        PyErr_Format(PyExc_ValueError, "a filter of more than %d properties", FILTER_NAMES_MOST);
        return NULL;
    }
    pull_filter *filter = calloc(1, sizeof *filter);
    if (filter == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *filter = (pull_filter){.number = number, .count = (int)count, .decided = decided, .most_text = most_text};
    filter->kept = Py_NewRef(names);
    filter->wanted = Py_NewRef(wanted);
    for (Py_ssize_t each = 0; each < count; each++) {
        char *text;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(names, each), &text, &length) < 0) {
            pull_filter_free(filter);
            return NULL;
        }
        filter->names[each] = span_of(text, (size_t)length);
    }
    return filter;
}

/* The key of the decision about a text; empty: too long. */
static span key_of(const pull_filter *filter, span text, uint8_t *room)
{
    span values[FILTER_NAMES_MOST];
    property_values(text, filter->names, filter->count, values);
    size_t length = 8;
    for (int each = 0; each < filter->count; each++) {
        length += 2 + values[each].len;
    }
    if (length > PLAN_KEY_MOST) {
        return span_of(room, 0);
    }
    uint8_t *to = put64(room, filter->number);
    for (int each = 0; each < filter->count; each++) {
        to = put_span(put16(to, (uint16_t)values[each].len), values[each]); /* no value has no length */
    }
    return span_of(room, (size_t)(to - room));
}

/* Call Python. -1: it raised, and will again, or an exception is set that is none of the request. */
static int call_filter(const pull_filter *filter, span text)
{
    PyObject *answer = PyObject_CallFunction(filter->wanted, "y#", text.at, (Py_ssize_t)text.len);
    int wanted = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    clear_exception();
    return wanted;
}

int pull_filter_matches(void *context, span text)
{
    const pull_filter *filter = context;
    uint8_t room[PLAN_KEY_MOST];
    span key = key_of(filter, text, room);
    if (key.len == 0) {
        return call_filter(filter, text);
    }
    const void *decided = plans_find(filter->decided, key);
    if (decided != NULL) {
        return decided == &yes;
    }
    int wanted = call_filter(filter, text);
    if (wanted >= 0) {
        plans_put(filter->decided, key, wanted ? &yes : &no); /* without memory Python is called again */
    }
    return wanted;
}
