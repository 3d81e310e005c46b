/* Headers that are those of the request before: most clients repeat all of theirs, or the first of them.
 *
 * nghttp2 has each field of its dynamic table once, so that a field that a client repeats is the same object. As long
 * as the fields of a request are those of the one before, nothing is read; if all are, so is what they say. */

#include "http2/http2.h"

static void forget_fields(same_head *same, size_t from)
{
    while (same->count > from) {
        const head_field *field = &same->fields[--same->count];
        nghttp2.rcbuf_decref(field->name);
        nghttp2.rcbuf_decref(field->value);
    }
}

static void forget_head(same_head *same)
{
    head_clear(&same->said);
    same->known = false;
}

void same_head_forget(same_head *same)
{
    forget_fields(same, 0);
    forget_head(same);
    same->follows = same->notes = false;
}

void same_head_begin(Http2 *self)
{
    same_head *same = &self->same;
    bool trailers = self->head.trailers;
    same->follows = same->known && !trailers;
    same->notes = !trailers;
    same->met = 0;
    if (!trailers && !same->known) forget_fields(same, 0);
}

/* The fields differ from here on: read those before. False: failed or raised. */
static bool differs(Http2 *self)
{
    same_head *same = &self->same;
    same->follows = false;
    forget_head(same);
    forget_fields(same, same->met);
    for (size_t each = 0; each < same->count; each++) {
        if (!head_add(self, same->fields[each].name, same->fields[each].value)) return false;
    }
    return true;
}

static void note(same_head *same, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    if (same->count == SAME_FIELDS) {
        same_head_forget(same);
        return;
    }
    nghttp2.rcbuf_incref(name);
    nghttp2.rcbuf_incref(value);
    same->fields[same->count++] = (head_field){name, value};
}

bool same_head_add(Http2 *self, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    same_head *same = &self->same;
    if (same->follows) {
        const head_field *next = &same->fields[same->met];
        if (same->met < same->count && next->name == name && next->value == value) {
            same->met++;
            return true;
        }
        if (!differs(self)) return false;
    }
    if (same->notes) note(same, name, value);
    return head_add(self, name, value);
}

bool same_head_end(Http2 *self)
{
    same_head *same = &self->same;
    if (!same->follows) return true;
    if (same->met < same->count) return differs(self);
    const request_head *said = &same->said;
    self->head = *said;
    self->head.path = Py_NewRef(said->path);
    self->head.method = Py_NewRef(said->method);
    self->head.fields = Py_NewRef(said->fields);
    return true;
}

void same_head_keep(Http2 *self)
{
    same_head *same = &self->same;
    const request_head *head = &self->head;
    if (!same->notes || same->follows) return;
    same->said = *head;
    same->said.path = Py_NewRef(head->path);
    same->said.method = Py_NewRef(head->method);
    same->said.fields = Py_NewRef(head->fields);
    same->said.authority = NULL; /* it is among the fields */
    same->known = true;
}
