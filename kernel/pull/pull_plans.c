/* Plans of pulls: see pull_plans.h. Python's answers are described at `Pulls` in pulls_type.c. */

#include "pull/pull_plans.h"

#include <stdlib.h>

#define OWN_SUBSCRIPTION 4                  /* a bit of the sysFlag */
#define KEY_NUMBERS (1 + 4 * 4 + 8 + 4 * 2) /* which fields it has, four numbers, subVersion, four lengths */

PyObject *text_of(span text)
{
    if (text.at == NULL) {
        return Py_NewRef(Py_None);
    }
    return PyUnicode_DecodeUTF8((const char *)text.at, (Py_ssize_t)text.len, NULL);
}

/* The version matters for subscriptions of heartbeats. A request with its own may have another each time. */
static int64_t version_of(const pull_request *request)
{
    return request->sys_flag & OWN_SUBSCRIPTION ? 0 : request->sub_version;
}

span pull_key(const pull_request *request, uint8_t *room)
{
    const span texts[] = {request->topic, request->consumer_group, request->subscription, request->expression_type};
    size_t length = KEY_NUMBERS;
    for (int each = 0; each < 4; each++) {
        length += texts[each].len;
    }
    if (length > PLAN_KEY_MOST) {
        return span_of(room, 0);
    }
    int present = request->has_max_msg_bytes | (request->subscription.at != NULL) << 1 |
                  (request->expression_type.at != NULL) << 2;
    *room = (uint8_t)present;
    uint8_t *to = put32(room + 1, (uint32_t)request->queue_id);
    to = put32(to, (uint32_t)request->sys_flag);
    to = put32(to, (uint32_t)request->max_msg_nums);
    to = put32(to, request->has_max_msg_bytes ? (uint32_t)request->max_msg_bytes : 0);
    to = put64(to, (uint64_t)version_of(request));
    for (int each = 0; each < 4; each++) {
        to = put_span(put16(to, (uint16_t)texts[each].len), texts[each]);
    }
    return span_of(room, (size_t)(to - room));
}

void pull_tally_drop(pull_tally *tally)
{
    if (tally != NULL && --tally->users == 0) {
        Py_DECREF(tally->account);
        free(tally);
    }
}

void pull_plan_release(void *released)
{
    pull_plan *plan = released;
    pull_tally_drop(plan->tally);
    Py_XDECREF((PyObject *)plan->queue);
    Py_XDECREF(plan->group);
    Py_XDECREF(plan->topic);
    pull_filter_free(plan->filter);
    free(plan->codes);
    free(plan);
}

int pull_plan_traverse(const pull_plan *plan, visitproc visit, void *arg)
{
    if (plan->tally != NULL) { /* each is of one plan */
        Py_VISIT(plan->tally->account);
    }
    Py_VISIT((PyObject *)plan->queue);
    return pull_filter_traverse(plan->filter, visit, arg);
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* None: whatever the tags code; else a list of codes. */
static bool take_codes(pull_plan *plan, PyObject *codes)
{
    if (codes == Py_None) {
        plan->wish.everything = true;
        return true;
    }
    if (!PyList_Check(codes)) {
        PyErr_SetString(PyExc_TypeError, "tags codes are a list, or None");
        return false;
    }
    Py_ssize_t count = PyList_Size(codes);
    plan->codes = malloc((size_t)(count + 1) * sizeof *plan->codes);
    if (plan->codes == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t each = 0; each < count; each++) {
        plan->codes[each] = PyLong_AsLongLong(PyList_GetItem(codes, each));
        if (plan->codes[each] == -1 && PyErr_Occurred()) {
            return false;
        }
    }
    qsort(plan->codes, (size_t)count, sizeof *plan->codes, compare);
    plan->wish.codes = plan->codes;
    plan->wish.code_count = (size_t)count;
    return true;
}

/* None: whatever the properties. */
static bool take_filter(pull_plan *plan, PyObject *filter, plan_table *decided)
{
    static uint64_t number; /* of the filter made last */
    if (filter != Py_None) {
        plan->filter = pull_filter_new(filter, ++number, decided);
        plan->wish.everything = false; /* the same number of entries is examined */
    }
    return filter == Py_None || plan->filter != NULL;
}

static bool take_answer(pull_plan *plan, PyObject *answer, const pull_request *request, plan_table *decided)
{
    PyObject *queue, *codes, *filter, *account;
    long long numbers[6];
    if (!PyArg_ParseTuple(answer, "O!OOLLLLLLO", QueueTail_Type, &queue, &codes, &filter, numbers, numbers + 1,
                          numbers + 2, numbers + 3, numbers + 4, numbers + 5, &account)) {
        return false;
    }
    plan->wish.most = numbers[0];
    plan->wish.memory = numbers[1];
    plan->wish.count_in_memory = numbers[2];
    plan->wish.bytes_in_memory = numbers[3];
    plan->wish.count_on_disk = numbers[4];
    plan->wish.bytes_on_disk = numbers[5];
    plan->group = text_of(request->consumer_group);
    plan->topic = text_of(request->topic);
    plan->tally = calloc(1, sizeof *plan->tally);
    if (plan->tally == NULL) {
        PyErr_NoMemory();
        return false;
    }
    plan->tally->account = Py_NewRef(account);
    plan->tally->users = 1;
    plan->queue = (QueueTail *)Py_NewRef(queue);
    return plan->group != NULL && plan->topic != NULL && take_codes(plan, codes) && take_filter(plan, filter, decided);
}

pull_plan *pull_plan_fetch(PyObject *planner, const pull_request *request, plan_table *decided)
{
    PyObject *most_bytes = request->has_max_msg_bytes ? PyLong_FromLong(request->max_msg_bytes) : Py_NewRef(Py_None);
    PyObject *answer = PyObject_CallFunction(planner, "NNiiLNNiN", text_of(request->consumer_group),
                                             text_of(request->topic), (int)request->queue_id, (int)request->sys_flag,
                                             (long long)version_of(request), text_of(request->subscription),
                                             text_of(request->expression_type), (int)request->max_msg_nums, most_bytes);
    if (answer == NULL) {
        clear_exception();
        return NULL;
    }
    pull_plan *plan = NULL;
    if (answer != Py_False) {
        plan = calloc(1, sizeof *plan);
        if (plan == NULL) {
            PyErr_NoMemory();
        } else if (answer != Py_None && !take_answer(plan, answer, request, decided)) {
            pull_plan_release(plan);
            plan = NULL;
        }
    }
    Py_DECREF(answer);
    return plan;
}
