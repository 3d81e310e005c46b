/* The module `rocketwire._kernel`: runs the initialisation of every part that parts.def lists. */

#include "core/kernel.h"

#define PART(name) int name##_init(PyObject *module);
#include "parts.def"
#undef PART

typedef int (*initialise)(PyObject *module);

static const initialise parts[] = {
#define PART(name) name##_init,
#include "parts.def"
#undef PART
    NULL,
};

static int execute(PyObject *module)
{
    for (const initialise *part = parts; *part != NULL; part++) {
        if ((*part)(module) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rocketwire._kernel",
    .m_doc = "The fast paths in C: the plain cases only; all else is handed over to Python.",
    .m_size = 0,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&definition); }
