#include "module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "sites.h"

#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#endif

/* Sites beyond these have numbers, but no words. A power of two. */
#define SITES_MAX 8192
#define PROBES_MAX 32
#define TEXT_BYTES 240

/*
 * One known site; its address is its number. The code object is kept alive, so that no other can take its address:
 * what a program runs again and again is few. Written once under the lock, `code` last.
 */
typedef struct known_site {
    _Atomic(PyObject *) code;
    int offset;
    char *text;
} known_site;

static known_site known[SITES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool runs_python(void) {
    return Py_IsInitialized() && PyGILState_Check();
}

/* Of the instruction, in units that only the code object knows. */
static int frame_offset(PyFrameObject *frame) {
#if PY_VERSION_HEX < 0x030b0000
    return frame->f_lasti;
#else
    return PyFrame_GetLasti(frame);
#endif
}

static uint64_t hash(const PyObject *code, int offset) {
    const uint64_t mixed = ((uint64_t)(uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u + (uint64_t)(unsigned)offset;
    return (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
}

/* "function (file:line)", as UTF-8; NULL when there is no memory. The pending exception is set aside by the caller. */
static char *describe_frame(PyFrameObject *frame, PyObject *code) {
    char text[TEXT_BYTES] = "";
    PyObject *name = PyObject_GetAttrString(code, PY_VERSION_HEX < 0x030b0000 ? "co_name" : "co_qualname");
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    const char *function = name != NULL ? PyUnicode_AsUTF8(name) : NULL;
    const char *path = file != NULL ? PyUnicode_AsUTF8(file) : NULL;
    if (function != NULL && path != NULL)
        PyOS_snprintf(text, sizeof text, "%s (%s:%d)", function, path, PyFrame_GetLineNumber(frame));
    Py_XDECREF(name);
    Py_XDECREF(file);
    PyErr_Clear();
    return strdup(text);
}

/* The site, or a free entry for it with *found false; NULL when there is neither. */
static known_site *look_up(PyObject *code, int offset, bool *found) {
    const uint64_t start = hash(code, offset);
    for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
        known_site *entry = &known[(start + probe) & (SITES_MAX - 1)];
        PyObject *there = atomic_load_explicit(&entry->code, memory_order_acquire);
        *found = there == code && entry->offset == offset;
        if (there == NULL || *found)
            return entry;
    }
    return NULL;
}

/* Writes the site down unless somebody has by now. `text` becomes the table's, or is freed. */
static known_site *insert(PyObject *code, int offset, char *text) {
    bool found = false;
    pthread_mutex_lock(&lock);
    known_site *entry = look_up(code, offset, &found);
    if (entry != NULL && !found) {
        entry->offset = offset;
        entry->text = text;
        text = NULL;
        Py_INCREF(code);
        atomic_store_explicit(&entry->code, code, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    free(text);
    return entry;
}

static known_site *learn(PyFrameObject *frame, PyObject *code, int offset) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    char *text = describe_frame(frame, code);
    PyErr_Restore(type, value, traceback);
    return text != NULL ? insert(code, offset, text) : NULL;
}

/* With the top bit set no address of a program's is equal to it. */
static ferry_site anonymous_site(const PyObject *code, int offset) {
    return (ferry_site)(hash(code, offset) | UINT64_C(1) << 63);
}

ferry_site site_of_frame(void) {
    PyFrameObject *frame = runs_python() ? PyEval_GetFrame() : NULL;
    if (frame == NULL)
        return 0;
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    const int offset = frame_offset(frame);
    bool found = false;
    known_site *entry = look_up(code, offset, &found);
    if (entry != NULL && !found)
        entry = learn(frame, code, offset);
    const ferry_site site = entry != NULL ? (ferry_site)entry : anonymous_site(code, offset);
    Py_DECREF(code);
    return site;
}

static bool describe(ferry_site site, char *text, size_t bytes) {
    const uintptr_t first = (uintptr_t)known;
    if (site < first || site >= first + sizeof known || bytes == 0)
        return false;
    const known_site *entry = &known[(site - first) / sizeof known[0]];
    PyOS_snprintf(text, bytes, "%s", entry->text);
    return true;
}

void sites_start(void) {
    ferry_site_describe_with(describe);
}
