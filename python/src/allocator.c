/*
 * NumPy's data allocator (NEP 49). Blocks of a threshold and more come from ferry, smaller ones from the functions of
 * NumPy's default handler; whose a block is, its address tells.
 *
 * install() writes into the functions of the *default* handler. NumPy's handler is a context variable, in which every
 * new thread, and every context made afresh, finds the default one: only there are threads covered that run already,
 * that start later, and that C code starts. Handlers that a program sets for itself stay in force. The functions are
 * written so that any mixture of old and new ones is right: free and realloc, which know both kinds of blocks, come
 * first, and stay when install() is undone, since arrays live on.
 *
 * `with allocator()` is for a part of a program: it sets a handler of its own in the context, as NEP 49 means it.
 */
#include "module.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>

#include "allocator.h"
#include "sites.h"

/* From how many bytes on blocks are ferry's. */
typedef struct scope {
    _Atomic size_t threshold_bytes;
    PyDataMem_Handler handler; /* of a context; unused by the default one */
    _Atomic(PyObject *) capsule;
    struct scope *next;
} scope;

/* What a NULL context means: the default handler's. */
static scope installed = {.threshold_bytes = SIZE_MAX};

/* Of contexts, one for each threshold, for ever: arrays keep their handler. Only ever added to. */
static _Atomic(scope *) contexts;

/* What the default handler's functions were. Set when the module is made, before any function of ours is in NumPy's
 * hands. */
static PyDataMemAllocator ordinary;

static _Atomic uint64_t fallbacks, fallback_bytes;

static _Thread_local struct {
    const void *data;
    ferry_site site;
} latest;

ferry_site allocator_take_site(const void *data) {
    const ferry_site site = latest.data == data ? latest.site : 0;
    latest.data = NULL;
    return site;
}

static size_t threshold_of(const void *context) {
    const scope *where = context != NULL ? context : &installed;
    return atomic_load_explicit(&where->threshold_bytes, memory_order_relaxed);
}

static void count_fallback(size_t bytes) {
    atomic_fetch_add_explicit(&fallbacks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&fallback_bytes, bytes, memory_order_relaxed);
}

/* ferry_malloc or ferry_calloc, for the line of Python that asks. */
static void *allocate_managed(size_t bytes, bool zeros) {
    const ferry_site site = site_of_frame(), before = ferry_site_set(site);
    void *block = zeros ? ferry_calloc(1, bytes) : ferry_malloc(bytes);
    ferry_site_set(before);
    latest.data = block;
    latest.site = site;
    if (block == NULL)
        count_fallback(bytes);
    return block;
}

static void *handler_malloc(void *context, size_t bytes) {
    void *block = NULL;
    if (bytes >= threshold_of(context))
        block = allocate_managed(bytes, false);
    return block != NULL ? block : ordinary.malloc(ordinary.ctx, bytes);
}

static void *handler_calloc(void *context, size_t count, size_t element_bytes) {
    size_t bytes;
    void *block = NULL;
    if (__builtin_mul_overflow(count, element_bytes, &bytes))
        return NULL;
    if (bytes >= threshold_of(context))
        block = allocate_managed(bytes, true);
    return block != NULL ? block : ordinary.calloc(ordinary.ctx, count, element_bytes);
}

static void handler_free(void *context, void *block, size_t bytes) {
    (void)context;
    if (ferry_owns(block))
        ferry_free(block);
    else
        ordinary.free(ordinary.ctx, block, bytes);
}

/* Devices without concurrent access need the wait, and what a device holds comes home in one piece. false where the
 * bytes cannot be read: in a forked child, and after a failure of the device. */
static bool read_home(void *block, size_t bytes) {
    ferry_view view;
    const int64_t length = (int64_t)bytes;
    return ferry_view_make(block, FERRY_UINT8, 1, &length, &view) == FERRY_OK &&
           ferry_host_acquire(&view, FERRY_READ) == FERRY_OK;
}

static void *move_to_ordinary(void *block, size_t bytes) {
    const size_t had = ferry_usable_size(block), kept = had < bytes ? had : bytes;
    void *moved = read_home(block, kept) ? ordinary.malloc(ordinary.ctx, bytes) : NULL;
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, kept);
    ferry_free(block);
    return moved;
}

static void *resize_managed(void *block, size_t bytes, size_t threshold_bytes) {
    /* Nothing more is born in ferry after an uninstall, but what is there may grow there. */
    if (bytes >= threshold_bytes || threshold_bytes == SIZE_MAX) {
        void *resized = ferry_realloc(block, bytes);
        if (resized != NULL)
            return resized;
        count_fallback(bytes);
    }
    return move_to_ordinary(block, bytes);
}

/* NumPy's default blocks are malloc's, so malloc knows how long they are. */
static void *resize_ordinary(void *block, size_t bytes, size_t threshold_bytes) {
    void *moved = bytes >= threshold_bytes ? allocate_managed(bytes, false) : NULL;
    if (moved == NULL)
        return ordinary.realloc(ordinary.ctx, block, bytes);
    const size_t had = malloc_usable_size(block);
    memcpy(moved, block, had < bytes ? had : bytes);
    ordinary.free(ordinary.ctx, block, had);
    return moved;
}

static void *handler_realloc(void *context, void *block, size_t bytes) {
    if (block == NULL)
        return handler_malloc(context, bytes);
    return ferry_owns(block) ? resize_managed(block, bytes, threshold_of(context))
                             : resize_ordinary(block, bytes, threshold_of(context));
}

static PyDataMem_Handler *default_handler(void) {
    return PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler");
}

int allocator_start(void) {
    const PyDataMem_Handler *handler = default_handler();
    if (handler == NULL)
        return -1;
    if (ordinary.malloc == NULL)
        ordinary = handler->allocator;
    return 0;
}

/* Whether the address may be written to, as the kernel sees it. */
static bool writable(const void *address) {
    char line[256];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long first, end;
        char rights[5];
        found = sscanf(line, "%lx-%lx %4s", &first, &end, rights) == 3 && (uintptr_t)address >= first &&
                (uintptr_t)address < end && rights[1] == 'w';
    }
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void replace_functions(PyDataMemAllocator *functions) {
    functions->free = handler_free;
    functions->realloc = handler_realloc;
    atomic_thread_fence(memory_order_seq_cst);
    functions->malloc = handler_malloc;
    functions->calloc = handler_calloc;
}

static PyObject *allocator_install(PyObject *module, PyObject *argument) {
    (void)module;
    const size_t threshold_bytes = PyLong_AsSize_t(argument);
    if (threshold_bytes == (size_t)-1 && PyErr_Occurred())
        return NULL;
    PyDataMem_Handler *handler = default_handler();
    if (handler == NULL)
        return NULL;
    if (!writable(handler))
        return PyErr_Format(PyExc_RuntimeError,
                            "NumPy's default data allocator is in read-only memory: use ferry.allocator()");
    sites_start();
    atomic_store(&installed.threshold_bytes, threshold_bytes);
    replace_functions(&handler->allocator);
    Py_RETURN_NONE;
}

static PyObject *allocator_uninstall(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    atomic_store(&installed.threshold_bytes, SIZE_MAX);
    Py_RETURN_NONE;
}

static scope *scope_create(size_t threshold_bytes) {
    scope *created = malloc(sizeof *created);
    if (created == NULL)
        return NULL;
    *created =
        (scope){.threshold_bytes = threshold_bytes,
                .handler = {.name = "ferry",
                            .version = 1,
                            .allocator = {created, handler_malloc, handler_calloc, handler_realloc, handler_free}}};
    return created;
}

/* Two threads may make one for the same threshold, which does no harm. */
static scope *scope_find(size_t threshold_bytes) {
    scope *first = atomic_load(&contexts), *found = first;
    while (found != NULL && threshold_of(found) != threshold_bytes)
        found = found->next;
    if (found != NULL || (found = scope_create(threshold_bytes)) == NULL)
        return found;
    found->next = first;
    while (!atomic_compare_exchange_weak(&contexts, &found->next, found)) {
    }
    return found;
}

/* A capsule of the scope's handler, made once and kept; NULL with an exception set. */
static PyObject *scope_capsule(scope *s) {
    PyObject *capsule = atomic_load_explicit(&s->capsule, memory_order_acquire), *none = NULL;
    if (capsule != NULL)
        return capsule;
    capsule = PyCapsule_New(&s->handler, "mem_handler", NULL);
    if (capsule != NULL && !atomic_compare_exchange_strong(&s->capsule, &none, capsule)) {
        Py_DECREF(capsule);
        capsule = none;
    }
    return capsule;
}

PyObject *allocator_use(size_t threshold_bytes) {
    sites_start();
    scope *found = scope_find(threshold_bytes);
    PyObject *capsule = found != NULL ? scope_capsule(found) : PyErr_NoMemory();
    return capsule == NULL ? NULL : PyDataMem_SetHandler(capsule);
}

void allocator_leave(PyObject *before) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(PyDataMem_SetHandler(before));
    Py_DECREF(before);
    PyErr_Restore(type, value, traceback);
}

/* Returns the handler that was in force, for allocator_set. */
static PyObject *allocator_enter(PyObject *module, PyObject *argument) {
    (void)module;
    const size_t threshold_bytes = PyLong_AsSize_t(argument);
    if (threshold_bytes == (size_t)-1 && PyErr_Occurred())
        return NULL;
    return allocator_use(threshold_bytes);
}

static PyObject *allocator_set(PyObject *module, PyObject *capsule) {
    (void)module;
    PyObject *before = PyDataMem_SetHandler(capsule);
    if (before == NULL)
        return NULL;
    Py_DECREF(before);
    Py_RETURN_NONE;
}

/* None without install(). */
static PyObject *allocator_threshold(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    const size_t threshold_bytes = threshold_of(NULL);
    if (threshold_bytes == SIZE_MAX)
        Py_RETURN_NONE;
    return PyLong_FromSize_t(threshold_bytes);
}

static PyObject *allocator_fallbacks(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return Py_BuildValue("KK", (unsigned long long)atomic_load(&fallbacks),
                         (unsigned long long)atomic_load(&fallback_bytes));
}

PyMethodDef allocator_methods[] = {
    {"allocator_install", allocator_install, METH_O, NULL},
    {"allocator_uninstall", allocator_uninstall, METH_NOARGS, NULL},
    {"allocator_enter", allocator_enter, METH_O, NULL},
    {"allocator_set", allocator_set, METH_O, NULL},
    {"allocator_threshold", allocator_threshold, METH_NOARGS, NULL},
    {"allocator_fallbacks", allocator_fallbacks, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
