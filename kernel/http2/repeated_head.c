/* Headers that are those of the request before, but for a few values: most clients repeat them.
 *
 * nghttp2 has each field of its dynamic table once, so that a field that a client repeats is the same object; one that
 * no table has is compared. As long as the fields of a request are those of the one before, nothing is read. Other
 * values of some fields (the number of a request, its time, its path) are put in place of those before; whatever else
 * differs has all fields read. */

#include "http2/http2.h"

#include "core/span.h"

static span content_of(nghttp2_rcbuf *bytes)
{
    nghttp2_vec content = nghttp2.rcbuf_get_buf(bytes);
    return span_of(content.base, content.len);
}

static bool equal(span one, span other) { return span_is(one, (const char *)other.at, other.len); }

static void forget_fields(repeated_head *same, size_t from)
{
    while (same->count > from) {
        const head_field *field = &same->fields[--same->count];
        nghttp2.rcbuf_decref(field->name);
        nghttp2.rcbuf_decref(field->value);
    }
}

static void forget_others(repeated_head *same)
{
    while (same->other_count > 0) nghttp2.rcbuf_decref(same->others[--same->other_count].value);
}

static void forget_head(repeated_head *same)
{
    head_clear(&same->last_head);
    same->known = false;
}

void repeated_head_forget(repeated_head *same)
{
    forget_fields(same, 0);
    forget_others(same);
    forget_head(same);
    same->follows = same->notes = false;
}

void repeated_head_begin(Http2 *self)
{
    repeated_head *same = &self->same;
    bool trailers = self->head.trailers;
    same->follows = same->known && !trailers;
    same->size = same->last_head.size;
    same->notes = !trailers;
    same->matched = 0;
    forget_others(same);
    if (!trailers && !same->known) forget_fields(same, 0);
}

/* The fields differ from here on: read those before. False: failed or raised. */
static bool differs(Http2 *self)
{
    repeated_head *same = &self->same;
    same->follows = false;
    forget_head(same);
    forget_fields(same, same->matched);
    for (size_t each = 0; each < same->other_count; each++) {
        nghttp2_rcbuf **value = &same->fields[same->others[each].place].value, *before = *value;
        *value = same->others[each].value;
        same->others[each].value = before;
    }
    for (size_t each = 0; each < same->count; each++) {
        if (!head_add(self, same->fields[each].name, same->fields[each].value)) return false;
    }
    return true;
}

/* Whether the next field is that before, or differs from it in its value only, which may do so. */
static bool take_next(Http2 *self, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    repeated_head *same = &self->same;
    const head_field *field = &same->fields[same->matched];
    if (field->name != name && !equal(content_of(field->name), content_of(name))) return false;
    span content = content_of(value), before = content_of(field->value);
    if (field->value == value || equal(before, content)) return true;
    if (field->kind == FIELD_FIXED || same->other_count == OTHER_VALUES) return false;
    size_t size = same->size + content.len - before.len;
    if (size > self->max_header_list || !head_may_have(field->kind, content)) return false;
    same->size = size;
    nghttp2.rcbuf_incref(value);
    same->others[same->other_count++] = (other_value){same->matched, value};
    return true;
}

static void note(repeated_head *same, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    if (same->count == SAME_FIELDS) {
        repeated_head_forget(same);
        return;
    }
    nghttp2.rcbuf_incref(name);
    nghttp2.rcbuf_incref(value);
    same->fields[same->count++] = (head_field){name, value, FIELD_FIXED};
}

bool repeated_head_add(Http2 *self, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    repeated_head *same = &self->same;
    if (same->follows) {
        if (same->matched < same->count && take_next(self, name, value)) {
            same->matched++;
            return true;
        }
        if (!differs(self)) return false;
    }
    if (same->notes) note(same, name, value);
    return head_add(self, name, value);
}

/* Put the other values in the head. */
static void put_others(Http2 *self)
{
    repeated_head *same = &self->same;
    request_head *head = &self->head;
    PyObject *fields = NULL; /* those before are another call's */
    for (size_t each = 0; each < same->other_count; each++) {
        const head_field *field = &same->fields[same->others[each].place];
        PyObject *text = head_text(self, same->others[each].value);
        if (text != NULL && field->kind == FIELD_PATH) {
            Py_DECREF(head->path);
            head->path = Py_NewRef(text);
        } else if (text != NULL) {
            PyObject *name = head_text(self, field->name);
            if (fields == NULL) fields = PyDict_Copy(head->fields);
            if (name != NULL && fields != NULL) PyDict_SetItem(fields, name, text);
            Py_XDECREF(name);
        }
        Py_XDECREF(text);
    }
    if (fields != NULL) {
        Py_DECREF(head->fields);
        head->fields = fields;
    }
    self->raised = self->raised || PyErr_Occurred() != NULL;
}

bool repeated_head_end(Http2 *self)
{
    repeated_head *same = &self->same;
    if (!same->follows) return true;
    if (same->matched < same->count) return differs(self);
    const request_head *last_head = &same->last_head;
    self->head = *last_head;
    self->head.path = Py_NewRef(last_head->path);
    self->head.method = Py_NewRef(last_head->method);
    self->head.fields = Py_NewRef(last_head->fields);
    self->head.size = same->size;
    if (same->other_count > 0) put_others(self);
    return !self->raised;
}

/* Which other values a field may have. A name that comes twice has both. */
static field_kind kind_of(const repeated_head *same, size_t place)
{
    span name = content_of(same->fields[place].name);
    for (size_t each = 0; each < same->count; each++) {
        if (each != place && equal(name, content_of(same->fields[each].name))) return FIELD_FIXED;
    }
    return head_kind(name);
}

void repeated_head_keep(Http2 *self)
{
    repeated_head *same = &self->same;
    const request_head *head = &self->head;
    if (!same->notes || same->follows) return;
    same->last_head = *head;
    same->last_head.path = Py_NewRef(head->path);
    same->last_head.method = Py_NewRef(head->method);
    same->last_head.fields = Py_NewRef(head->fields);
    same->last_head.authority = NULL; /* it is among the fields */
    for (size_t each = 0; each < same->count; each++) same->fields[each].kind = kind_of(same, each);
    same->known = true;
}
