/* What a relay has noted, as Python gets it. */

#define _GNU_SOURCE

#include "core/values.h"

#ifdef __linux__

#include "relay/relay.h"

static long long value_of(const atomic_llong *counter) { return atomic_load_explicit(counter, memory_order_relaxed); }

static PyObject *of_code(const request_times *times)
{
    PyObject *values[DURATION_BUCKETS];
    for (int bucket = 0; bucket < DURATION_BUCKETS; bucket++) {
        values[bucket] = PyLong_FromLongLong(value_of(&times->counts[bucket]));
    }
    PyObject *counts = tuple_of(values, DURATION_BUCKETS);
    return counts == NULL ? NULL : Py_BuildValue("(LNL)", value_of(&times->requests), counts, value_of(&times->sum));
}

PyObject *notes_times(const notes *all)
{
    PyObject *found = PyDict_New();
    for (int each = 0; found != NULL && all->codes != NULL && each <= all->codes_count; each++) {
        if (value_of(&all->times[each].requests) == 0) continue;
        PyObject *code = PyLong_FromLong(each < all->codes_count ? all->codes[each] : -1);
        PyObject *times = code == NULL ? NULL : of_code(&all->times[each]);
        if (times == NULL || PyDict_SetItem(found, code, times) < 0) Py_CLEAR(found);
        Py_XDECREF(code);
        Py_XDECREF(times);
    }
    return found;
}

PyObject *notes_copied(notes *all)
{
    int64_t dropped;
    PyObject *list = PyList_New(0);
    for (copied_frame *each = notes_copies(all, &dropped), *next; each != NULL; each = next) {
        next = each->next;
        PyObject *copy = list == NULL ? NULL
                                      : Py_BuildValue("(Ly#)", (long long)each->pair, (const char *)each->bytes,
                                                      (Py_ssize_t)each->size);
        if (list != NULL && (copy == NULL || PyList_Append(list, copy) < 0)) Py_CLEAR(list);
        Py_XDECREF(copy);
        free(each);
    }
    return list == NULL ? NULL : Py_BuildValue("(NL)", list, (long long)dropped);
}

PyObject *relay_counts(const relay *all)
{
    return Py_BuildValue("(LLLLLL)", value_of(&all->frames[CLIENT]), value_of(&all->bytes[CLIENT]),
                         value_of(&all->frames[UPSTREAM]), value_of(&all->bytes[UPSTREAM]), value_of(&all->open),
                         value_of(&all->unsent));
}

#else
typedef int notes_view_is_empty;
#endif
