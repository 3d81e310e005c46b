/* Which texts of calls are plain: those that the checks of wire.grpc.checks accept for certain. */
#ifndef ROCKETWIRE_CALL_TEXTS_H
#define ROCKETWIRE_CALL_TEXTS_H

#include "core/span.h"

/* UTF-8 without control characters. */
bool text_is_plain(span text);

/* Such a text, that also has more than white space in it, as far as can be said without tables. */
bool text_is_solid(span text);

#endif
