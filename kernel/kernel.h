/* What every part that speaks Python includes first. Pure parsing and formatting includes no Python at all. */

#ifndef ROCKETWIRE_KERNEL_H
#define ROCKETWIRE_KERNEL_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000 /* one binary for CPython 3.11 and later */
#endif
#include <Python.h>

#endif
