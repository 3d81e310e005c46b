/* Python's API: every part that uses Python includes this first. Pure parsing and formatting does not include it. */

#ifndef ROCKETWIRE_KERNEL_H
#define ROCKETWIRE_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h> /* its limited API: see tools/build_kernel.py */

#endif
