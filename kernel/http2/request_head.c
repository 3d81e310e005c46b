/* Reads the headers of a request: see rocketwire.wire.http2.requests. */

#include "http2/http2.h"

enum { ENTRY_OVERHEAD = 32 }; /* what a header counts besides its name and value */

static PyObject *decoded(span bytes)
{
    return PyUnicode_DecodeUTF8((const char *)bytes.at, (Py_ssize_t)bytes.len, "replace");
}

/* The text of bytes of nghttp2's; clients repeat most of theirs in each request, and nghttp2 then gives the same ones.
 */
static PyObject *text_of(Http2 *self, nghttp2_rcbuf *bytes, span content)
{
    cached_text *cached = &self->texts[((uintptr_t)bytes >> 5) % TEXTS];
    if (cached->key == bytes) return Py_NewRef(cached->text);
    PyObject *text = decoded(content);
    if (text == NULL || content.len > TEXT_MOST) return text;
    if (cached->key != NULL) {
        nghttp2.rcbuf_decref(cached->key);
        Py_DECREF(cached->text);
    }
    nghttp2.rcbuf_incref(bytes);
    *cached = (cached_text){bytes, Py_NewRef(text)};
    return text;
}

static bool right_value(span value)
{
    for (size_t at = 0; at < value.len; at++) {
        uint8_t byte = value.at[at];
        if (byte == 0 || byte == '\n' || byte == '\r') return false;
    }
    return true;
}

static bool right_name(span name)
{
    for (size_t at = 0; at < name.len; at++) {
        uint8_t byte = name.at[at];
        if (byte < 0x21 || byte > 0x7e || byte == ':' || (byte >= 'A' && byte <= 'Z')) return false;
    }
    return name.len > 0;
}

#define IS(text, literal) span_is(text, literal, sizeof literal - 1)

static bool allowed(span name, span value)
{
    switch (name.len) {
    case 2:
        return !IS(name, "te") || IS(value, "trailers");
    case 7:
        return !IS(name, "upgrade");
    case 10:
        return !IS(name, "connection") && !IS(name, "keep-alive");
    case 16:
        return !IS(name, "proxy-connection");
    case 17:
        return !IS(name, "transfer-encoding");
    default:
        return true;
    }
}

/* False: a pseudo-header that is out of place. */
static bool pseudo_header(Http2 *self, span name, nghttp2_rcbuf *bytes, span value)
{
    request_head *head = &self->head;
    PyObject **to = IS(name, ":method")      ? &head->method
                    : IS(name, ":path")      ? &head->path
                    : IS(name, ":authority") ? &head->authority
                                             : NULL;
    if (head->trailers || head->regular) return false;
    if (IS(name, ":scheme")) {
        if (head->has_scheme) return false;
        return head->has_scheme = true;
    }
    if (to == NULL || *to != NULL) return false;
    *to = text_of(self, bytes, value);
    self->raised = self->raised || *to == NULL;
    if (to == &head->method) head->post = IS(value, "POST");
    if (value.len == 0 && to != &head->authority) head->malformed = true;
    return true;
}

static void add_field(Http2 *self, nghttp2_rcbuf *name_bytes, span name, nghttp2_rcbuf *value_bytes, span value)
{
    request_head *head = &self->head;
    if (head->fields == NULL) head->fields = PyDict_New();
    PyObject *key = head->fields ? text_of(self, name_bytes, name) : NULL;
    PyObject *text = key ? text_of(self, value_bytes, value) : NULL;
    if (text != NULL) {
        PyObject *other = PyDict_GetItemWithError(head->fields, key);
        if (other != NULL) {
            PyObject *joined = PyUnicode_FromFormat("%U,%U", other, text);
            Py_DECREF(text);
            text = joined;
        }
        if (text != NULL && !PyErr_Occurred()) PyDict_SetItem(head->fields, key, text);
    }
    Py_XDECREF(key);
    Py_XDECREF(text);
    self->raised = self->raised || PyErr_Occurred() != NULL;
}

/* The length that the data shall have. False: no number, or not that of another such header. */
static bool content_length(request_head *head, span value)
{
    uint64_t length = 0;
    for (size_t at = 0; at < value.len; at++) {
        if (value.at[at] < '0' || value.at[at] > '9') return false;
        length = length > (UINT64_MAX >> 4) ? length : length * 10 + (uint64_t)(value.at[at] - '0');
    }
    if (value.len == 0 || (head->has_content_length && head->content_length != length)) return false;
    head->has_content_length = true;
    head->content_length = length;
    return true;
}

bool head_add(Http2 *self, nghttp2_rcbuf *name_bytes, nghttp2_rcbuf *value_bytes)
{
    nghttp2_vec name_vec = nghttp2.rcbuf_get_buf(name_bytes), value_vec = nghttp2.rcbuf_get_buf(value_bytes);
    span name = span_of(name_vec.base, name_vec.len), value = span_of(value_vec.base, value_vec.len);
    request_head *head = &self->head;
    head->size += name.len + value.len + ENTRY_OVERHEAD;
    if (head->size > self->max_header_list) {
        connection_fail(self, ENHANCE_YOUR_CALM, "the headers of a request are too large");
        return false;
    }
    if (IS(name, "content-length") && !content_length(head, value)) {
        connection_fail(self, PROTOCOL_ERROR, "content-length is not a length");
        return false;
    }
    if (head->malformed) return true;
    if (name.len > 0 && name.at[0] == ':' && !head->trailers) {
        head->malformed = !right_value(value) || !pseudo_header(self, name, value_bytes, value) || head->malformed;
        return !self->raised;
    }
    head->regular = true;
    if ((!head->trailers && !right_value(value)) || !right_name(name) || !allowed(name, value)) {
        head->malformed = true;
    } else if (!head->trailers) {
        if (!head->has_type && IS(name, "content-type")) {
            static const char grpc[] = "application/grpc";
            head->has_type = true;
            head->grpc = value.len >= sizeof grpc - 1 && memcmp(value.at, grpc, sizeof grpc - 1) == 0;
        }
        add_field(self, name_bytes, name, value_bytes, value);
    }
    return !self->raised;
}

PyObject *head_text(Http2 *self, nghttp2_rcbuf *bytes)
{
    nghttp2_vec content = nghttp2.rcbuf_get_buf(bytes);
    return text_of(self, bytes, span_of(content.base, content.len));
}

field_kind head_kind(span name)
{
    if (IS(name, ":path")) return FIELD_PATH;
    bool special = name.len == 0 || name.at[0] == ':' || IS(name, "content-type") || IS(name, "content-length");
    return special || !allowed(name, span_of("", 0)) ? FIELD_FIXED : FIELD_PLAIN;
}

bool head_may_have(field_kind kind, span value)
{
    return kind != FIELD_FIXED && right_value(value) && (kind != FIELD_PATH || value.len > 0);
}

bool head_is_request(const request_head *head)
{
    return !head->malformed && head->method != NULL && head->path != NULL && head->has_scheme;
}

void head_clear(request_head *head)
{
    Py_CLEAR(head->path);
    Py_CLEAR(head->authority);
    Py_CLEAR(head->fields);
    Py_CLEAR(head->method);
    *head = (request_head){0};
}
