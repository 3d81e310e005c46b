/* Keys of appended messages on their way to the index. `KeyColumn` is a Python type (keys.c); store.index.index_backlog
 * owns one.
 *
 * The event loop's thread adds; another one takes and writes index files. */
#ifndef ROCKETWIRE_KEYS_H
#define ROCKETWIRE_KEYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/span.h"

/* Add a message: its unique key (at == NULL: none) and its keys (words with blanks between; at == NULL: none).
 * -1: no memory, MemoryError is set. The other thread sees nothing before key_column_group. */
int key_column_add(PyObject *column, int32_t prefix_hash, span unique_key, span words, int64_t physical_offset,
                   int64_t store_timestamp);

/* The messages added since the last call are those of the log from `start` to `end`. */
int key_column_group(PyObject *column, int64_t start, int64_t end);

extern PyTypeObject *KeyColumn_Type; /* a heap type, made by keys_init */

int keys_init(PyObject *module);

#endif
