/* Finding libnghttp2: in the system's library folders, or linked into the kernel. */

#include "core/kernel.h"

#include "http2/nghttp2.h"

nghttp2_table nghttp2;

#ifdef ROCKETWIRE_NGHTTP2_LINKED

#define NGHTTP2_DECLARED(result, name, arguments) extern result nghttp2_##name arguments;
NGHTTP2_FUNCTIONS(NGHTTP2_DECLARED)
NGHTTP2_NEW_FUNCTIONS(NGHTTP2_DECLARED)

static bool load(void)
{
#define NGHTTP2_LINKED(result, name, arguments) nghttp2.name = nghttp2_##name;
    NGHTTP2_FUNCTIONS(NGHTTP2_LINKED)
    NGHTTP2_NEW_FUNCTIONS(NGHTTP2_LINKED)
    return true;
}

#else

#include <dlfcn.h>

#ifdef __APPLE__
static const char library[] = "libnghttp2.14.dylib";
#else
static const char library[] = "libnghttp2.so.14"; /* the number is that of its binary interface */
#endif

static bool load(void)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return false;
    bool whole = true;
#define NGHTTP2_LOOKED_UP(result, name, arguments) *(void **)&nghttp2.name = dlsym(handle, "nghttp2_" #name);
#define NGHTTP2_FOUND(result, name, arguments) \
    NGHTTP2_LOOKED_UP(result, name, arguments) \
    whole = whole && nghttp2.name != NULL;
    NGHTTP2_NEW_FUNCTIONS(NGHTTP2_LOOKED_UP)
    NGHTTP2_FUNCTIONS(NGHTTP2_FOUND)
    return whole; /* it stays loaded, as the kernel does */
}

#endif

bool nghttp2_loaded(void)
{
    static enum { UNKNOWN, THERE, MISSING } state = UNKNOWN;
    if (state == UNKNOWN) state = load() ? THERE : MISSING;
    return state == THERE;
}

static PyObject *library_version(PyObject *module, PyObject *nothing)
{
    (void)module, (void)nothing;
    if (!nghttp2_loaded()) Py_RETURN_NONE;
    return PyUnicode_FromString(nghttp2.version(0)->version_str);
}

static PyMethodDef functions[] = {
    {"nghttp2_version", library_version, METH_NOARGS,
     "The version of libnghttp2, on which `Http2` runs; None: it is not installed."},
    {NULL, NULL, 0, NULL},
};

int nghttp2_library_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
