/*
 * Where in a program an array is born. The innermost frame is often a library's: np.full's own, or one deep in pandas,
 * through which all sorts of arrays come. So a site is the way from the innermost frame outward to the first one
 * of the user's own code, and is named by that.
 */
#include "module.h"

#include <pthread.h>
#include <stdatomic.h>

#include "sites.h"

#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#endif

/* What is known beyond these has numbers, but no words. Powers of two. */
#define CODES_MAX 8192
#define SITES_MAX 8192
#define PROBES_MAX 32
#define FRAMES_MAX 24
#define TEXT_BYTES 240

/* Whose code an object is. It is kept alive, so that no other can take its address. Written under the lock, `code`
 * last. */
typedef struct known_code {
    _Atomic(PyObject *) code;
    bool library;
} known_code;

/* One site; its address is its number. Written under the lock, `way` last. */
typedef struct known_site {
    _Atomic uint64_t way; /* the hash of its frames, never 0 */
    char *text;
} known_site;

static known_code codes[CODES_MAX];
static known_site sites[SITES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mix(uint64_t seed, uint64_t value) {
    const uint64_t mixed = (seed ^ value) * 0x9e3779b97f4a7c15u;
    return (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
}

/* The entry of the code, or a free one; NULL when there is neither. */
static known_code *find_code(PyObject *code) {
    const uint64_t start = mix(0, (uintptr_t)code);
    for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
        known_code *entry = &codes[(start + probe) & (CODES_MAX - 1)];
        PyObject *there = atomic_load_explicit(&entry->code, memory_order_acquire);
        if (there == NULL || there == code)
            return entry;
    }
    return NULL;
}

static known_site *find_site(uint64_t way) {
    for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
        known_site *entry = &sites[(way + probe) & (SITES_MAX - 1)];
        const uint64_t there = atomic_load_explicit(&entry->way, memory_order_acquire);
        if (there == 0 || there == way)
            return entry;
    }
    return NULL;
}

/* Installed packages, the standard library's frozen modules and NumPy's generated wrappers, but no script. */
static bool is_library_file(const char *path) {
    return strstr(path, "/site-packages/") != NULL || strstr(path, "/dist-packages/") != NULL ||
           strstr(path, "<__array_function__") != NULL || strncmp(path, "<frozen ", 8) == 0;
}

static bool ask_code(PyObject *code) {
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    const char *path = file != NULL ? PyUnicode_AsUTF8(file) : NULL;
    const bool library = path != NULL && is_library_file(path);
    Py_XDECREF(file);
    PyErr_Clear();
    return library;
}

static bool learn_code(PyObject *code) {
    const bool library = ask_code(code);
    pthread_mutex_lock(&lock);
    known_code *entry = find_code(code);
    if (entry != NULL && atomic_load_explicit(&entry->code, memory_order_relaxed) == NULL) {
        entry->library = library;
        Py_INCREF(code);
        atomic_store_explicit(&entry->code, code, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return library;
}

static bool is_library(PyObject *code) {
    const known_code *entry = find_code(code);
    if (entry != NULL && atomic_load_explicit(&entry->code, memory_order_acquire) == code)
        return entry->library;
    return learn_code(code);
}

/* "function (file:line)" */
static void describe_frame(PyFrameObject *frame, char *text, size_t bytes) {
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    PyObject *name = PyObject_GetAttrString(code, PY_VERSION_HEX < 0x030b0000 ? "co_name" : "co_qualname");
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    const char *function = name != NULL ? PyUnicode_AsUTF8(name) : NULL;
    const char *path = file != NULL ? PyUnicode_AsUTF8(file) : NULL;
    if (function != NULL && path != NULL)
        PyOS_snprintf(text, bytes, "%s (%s:%d)", function, path, PyFrame_GetLineNumber(frame));
    Py_XDECREF(name);
    Py_XDECREF(file);
    Py_DECREF(code);
    PyErr_Clear();
}

/* The frame's part of the way; *outward is whether the caller's belongs to it. */
static uint64_t follow(PyFrameObject *frame, uint64_t way, bool *outward) {
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
#if PY_VERSION_HEX < 0x030b0000
    const int offset = frame->f_lasti;
#else
    const int offset = PyFrame_GetLasti(frame);
#endif
    *outward = is_library(code);
    way = mix(mix(way, (uintptr_t)code), (uint64_t)offset);
    Py_DECREF(code);
    return way;
}

/* From the innermost frame outward. Returns a new reference to the last frame of the way. */
static PyFrameObject *walk(PyFrameObject *frame, uint64_t *way) {
    bool outward = true;
    Py_INCREF(frame);
    for (int depth = 0; depth < FRAMES_MAX; depth++) {
        *way = follow(frame, *way, &outward);
        PyFrameObject *caller = outward ? PyFrame_GetBack(frame) : NULL;
        if (caller == NULL)
            break;
        Py_DECREF(frame);
        frame = caller;
    }
    return frame;
}

/* `text` is the table's when it is taken. */
static known_site *insert(uint64_t way, char *text, bool *taken) {
    pthread_mutex_lock(&lock);
    known_site *entry = find_site(way);
    *taken = entry != NULL && atomic_load_explicit(&entry->way, memory_order_relaxed) == 0;
    if (*taken) {
        entry->text = text;
        atomic_store_explicit(&entry->way, way, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return entry;
}

static known_site *learn_site(PyFrameObject *frame, uint64_t way) {
    char *text = calloc(1, TEXT_BYTES);
    bool taken;
    if (text == NULL)
        return NULL;
    describe_frame(frame, text, TEXT_BYTES);
    known_site *entry = insert(way, text, &taken);
    if (!taken)
        free(text);
    return entry;
}

static ferry_site site_of(PyFrameObject *innermost) {
    uint64_t way = 0;
    PyFrameObject *frame = walk(innermost, &way);
    way |= UINT64_C(1) << 63; /* never 0, and no address of a program's */
    known_site *entry = find_site(way);
    if (entry != NULL && atomic_load_explicit(&entry->way, memory_order_acquire) != way)
        entry = learn_site(frame, way);
    Py_DECREF(frame);
    return entry != NULL ? (ferry_site)entry : (ferry_site)way;
}

ferry_site site_of_frame(void) {
    PyObject *type, *value, *traceback;
    PyFrameObject *frame = Py_IsInitialized() && PyGILState_Check() ? PyEval_GetFrame() : NULL;
    if (frame == NULL)
        return 0;
    PyErr_Fetch(&type, &value, &traceback);
    const ferry_site site = site_of(frame);
    PyErr_Restore(type, value, traceback);
    return site;
}

static bool describe(ferry_site site, char *text, size_t bytes) {
    const uintptr_t first = (uintptr_t)sites;
    if (site < first || site >= first + sizeof sites || bytes == 0)
        return false;
    PyOS_snprintf(text, bytes, "%s", sites[(site - first) / sizeof sites[0]].text);
    return true;
}

static void lock_for_fork(void) {
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void) {
    pthread_mutex_unlock(&lock);
}

static void start(void) {
    ferry_site_describe_with(describe);
    (void)pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

void sites_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}
