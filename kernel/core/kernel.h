/* What every part that speaks Python includes first. Pure parsing and formatting includes no Python at all. */

#ifndef ROCKETWIRE_KERNEL_H
#define ROCKETWIRE_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h> /* its limited API: see tools/build_kernel.py */

#endif
