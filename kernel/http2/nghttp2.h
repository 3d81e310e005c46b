/* What is used of libnghttp2: its names, types and numbers, and a table of its functions.
 *
 * The library is looked for when it is needed first (nghttp2_library.c), for most systems have it, but not its headers.
 * With ROCKETWIRE_NGHTTP2_LINKED it is linked instead. */
#ifndef ROCKETWIRE_NGHTTP2_H
#define ROCKETWIRE_NGHTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nghttp2_session nghttp2_session;
typedef struct nghttp2_session_callbacks nghttp2_session_callbacks;
typedef struct nghttp2_option nghttp2_option;
typedef struct nghttp2_rcbuf nghttp2_rcbuf; /* a counted reference to bytes; equal ones of a table are one object */

typedef struct {
    int age;
    int version_num;
    const char *version_str;
    const char *proto_str;
} nghttp2_info;

typedef struct {
    uint8_t *base;
    size_t len;
} nghttp2_vec;

typedef struct {
    uint8_t *name, *value;
    size_t namelen, valuelen;
    uint8_t flags;
} nghttp2_nv;

enum { NGHTTP2_NV_FLAG_NO_COPY_NAME = 2, NGHTTP2_NV_FLAG_NO_COPY_VALUE = 4 };

typedef struct {
    int32_t settings_id;
    uint32_t value;
} nghttp2_settings_entry;

typedef struct {
    size_t length;
    int32_t stream_id;
    uint8_t type, flags, reserved;
} nghttp2_frame_hd;

typedef struct {
    int32_t stream_id, weight;
    uint8_t exclusive;
} nghttp2_priority_spec;

typedef struct {
    nghttp2_frame_hd hd;
    size_t padlen;
    nghttp2_priority_spec pri_spec;
    nghttp2_nv *nva;
    size_t nvlen;
    int cat;
} nghttp2_headers;

enum { NGHTTP2_HCAT_REQUEST = 0 };

typedef struct {
    nghttp2_frame_hd hd;
    int32_t last_stream_id;
    uint32_t error_code;
    uint8_t *opaque_data;
    size_t opaque_data_len;
    uint8_t reserved;
} nghttp2_goaway;

typedef union {
    nghttp2_frame_hd hd;
    nghttp2_headers headers;
    nghttp2_goaway goaway;
} nghttp2_frame;

typedef union {
    int fd;
    void *ptr;
} nghttp2_data_source;

typedef ptrdiff_t (*nghttp2_data_source_read_callback)(nghttp2_session *session, int32_t stream, uint8_t *to,
                                                       size_t room, uint32_t *flags, nghttp2_data_source *source,
                                                       void *user);

typedef struct {
    nghttp2_data_source source;
    nghttp2_data_source_read_callback read_callback;
} nghttp2_data_provider;

enum { NGHTTP2_DATA_FLAG_EOF = 1, NGHTTP2_DATA_FLAG_NO_END_STREAM = 2 };

enum {
    NGHTTP2_ERR_DEFERRED = -508,
    NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE = -521,
    NGHTTP2_ERR_PAUSE = -526,
    NGHTTP2_ERR_NOMEM = -901,
    NGHTTP2_ERR_CALLBACK_FAILURE = -902,
};

typedef int (*nghttp2_on_frame)(nghttp2_session *session, const nghttp2_frame *frame, void *user);
typedef int (*nghttp2_on_invalid_frame)(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user);
typedef int (*nghttp2_on_header)(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                                 nghttp2_rcbuf *value, uint8_t flags, void *user);
typedef int (*nghttp2_on_data_chunk)(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                                     size_t len, void *user);
typedef int (*nghttp2_on_stream_close)(nghttp2_session *session, int32_t stream, uint32_t error, void *user);

/* The functions: result, name, arguments. */
#define NGHTTP2_FUNCTIONS(F)                                                                                         \
    F(nghttp2_info *, version, (int))                                                                                \
    F(const char *, strerror, (int))                                                                                 \
    F(int, option_new, (nghttp2_option **))                                                                          \
    F(void, option_set_no_auto_window_update, (nghttp2_option *, int))                                               \
    F(void, option_set_no_http_messaging, (nghttp2_option *, int))                                                   \
    F(void, option_set_no_closed_streams, (nghttp2_option *, int))                                                   \
    F(void, option_set_max_outbound_ack, (nghttp2_option *, size_t))                                                 \
    F(int, session_callbacks_new, (nghttp2_session_callbacks **))                                                    \
    F(void, session_callbacks_set_on_begin_headers_callback, (nghttp2_session_callbacks *, nghttp2_on_frame))        \
    F(void, session_callbacks_set_on_header_callback2, (nghttp2_session_callbacks *, nghttp2_on_header))             \
    F(void, session_callbacks_set_on_frame_recv_callback, (nghttp2_session_callbacks *, nghttp2_on_frame))           \
    F(void, session_callbacks_set_on_invalid_frame_recv_callback,                                                    \
      (nghttp2_session_callbacks *, nghttp2_on_invalid_frame))                                                       \
    F(void, session_callbacks_set_on_data_chunk_recv_callback, (nghttp2_session_callbacks *, nghttp2_on_data_chunk)) \
    F(void, session_callbacks_set_on_stream_close_callback, (nghttp2_session_callbacks *, nghttp2_on_stream_close))  \
    F(void, session_callbacks_set_on_frame_send_callback, (nghttp2_session_callbacks *, nghttp2_on_frame))           \
    F(int, session_server_new2,                                                                                      \
      (nghttp2_session **, const nghttp2_session_callbacks *, void *, const nghttp2_option *))                       \
    F(void, session_del, (nghttp2_session *))                                                                        \
    F(ptrdiff_t, session_mem_recv, (nghttp2_session *, const uint8_t *, size_t))                                     \
    F(ptrdiff_t, session_mem_send, (nghttp2_session *, const uint8_t **))                                            \
    F(int, session_consume_connection, (nghttp2_session *, size_t))                                                  \
    F(int, session_resume_data, (nghttp2_session *, int32_t))                                                        \
    F(void *, session_get_stream_user_data, (nghttp2_session *, int32_t))                                            \
    F(int, session_set_stream_user_data, (nghttp2_session *, int32_t, void *))                                       \
    F(int, submit_settings, (nghttp2_session *, uint8_t, const nghttp2_settings_entry *, size_t))                    \
    F(int, submit_window_update, (nghttp2_session *, uint8_t, int32_t, int32_t))                                     \
    F(int, submit_rst_stream, (nghttp2_session *, uint8_t, int32_t, uint32_t))                                       \
    F(int, submit_goaway, (nghttp2_session *, uint8_t, int32_t, uint32_t, const uint8_t *, size_t))                  \
    F(int, submit_response, (nghttp2_session *, int32_t, const nghttp2_nv *, size_t, const nghttp2_data_provider *)) \
    F(int, submit_trailer, (nghttp2_session *, int32_t, const nghttp2_nv *, size_t))                                 \
    F(void, rcbuf_incref, (nghttp2_rcbuf *))                                                                         \
    F(void, rcbuf_decref, (nghttp2_rcbuf *))                                                                         \
    F(nghttp2_vec, rcbuf_get_buf, (nghttp2_rcbuf *))

/* Those that older releases lack. */
#define NGHTTP2_NEW_FUNCTIONS(F) F(void, option_set_stream_reset_rate_limit, (nghttp2_option *, uint64_t, uint64_t))

typedef struct {
#define NGHTTP2_MEMBER(result, name, arguments) result(*name) arguments;
    NGHTTP2_FUNCTIONS(NGHTTP2_MEMBER)
    NGHTTP2_NEW_FUNCTIONS(NGHTTP2_MEMBER) /* NULL: not there */
#undef NGHTTP2_MEMBER
} nghttp2_table;

extern nghttp2_table nghttp2; /* empty until nghttp2_loaded */

/* Whether the library could be loaded; the first call loads it. */
bool nghttp2_loaded(void);

#endif
