/*
 * The replacing of NumPy's loops. NumPy calls a loop with its operands and a pointer of its own, which must reach
 * NumPy's loop untouched and may lie in read-only memory: so each replaced loop has a function of its own, that knows
 * its number. They are alike, hence made by repetition, and handed out as ufuncs are gone through.
 */
#include "loop.h"

#include "arrays.h"

#include <limits.h>
#include <pthread.h>

#define LOOPS_MAX 1024

static loop loops[LOOPS_MAX];

/* Written when the module is made. Loops keep their ufunc and signature for ever. */
static int loop_count;
static const PyUFuncObject *ufuncs[FERRY_OP_COUNT + 1]; /* matmul is the last */

/* Guards what follows, and the writing of gates. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int watchers;
static bool forked;

static _Atomic bool installed;

#define TRAMPOLINE(number)                                                                                             \
    static void trampoline_##number(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data) {      \
        loop *l = &loops[number];                                                                                      \
        if (dimensions[0] < atomic_load_explicit(&l->gate, memory_order_relaxed))                                      \
            l->numpy(args, dimensions, steps, data);                                                                   \
        else                                                                                                           \
            loop_call(l, args, dimensions, steps, data);                                                               \
    }
#define NAME(number) trampoline_##number,
#define TIMES_16(each, p)                                                                                              \
    each(p##0) each(p##1) each(p##2) each(p##3) each(p##4) each(p##5) each(p##6) each(p##7) each(p##8) each(p##9)      \
        each(p##a) each(p##b) each(p##c) each(p##d) each(p##e) each(p##f)
#define TIMES_256(each, p)                                                                                             \
    TIMES_16(each, p##0)                                                                                               \
    TIMES_16(each, p##1)                                                                                               \
    TIMES_16(each, p##2)                                                                                               \
    TIMES_16(each, p##3)                                                                                               \
    TIMES_16(each, p##4)                                                                                               \
    TIMES_16(each, p##5)                                                                                               \
    TIMES_16(each, p##6)                                                                                               \
    TIMES_16(each, p##7)                                                                                               \
    TIMES_16(each, p##8)                                                                                               \
    TIMES_16(each, p##9)                                                                                               \
    TIMES_16(each, p##a)                                                                                               \
    TIMES_16(each, p##b)                                                                                               \
    TIMES_16(each, p##c)                                                                                               \
    TIMES_16(each, p##d)                                                                                               \
    TIMES_16(each, p##e)                                                                                               \
    TIMES_16(each, p##f)
#define TIMES_1024(each) TIMES_256(each, 0x0) TIMES_256(each, 0x1) TIMES_256(each, 0x2) TIMES_256(each, 0x3)

TIMES_1024(TRAMPOLINE)
static const PyUFuncGenericFunction trampolines[] = {TIMES_1024(NAME)};
_Static_assert(sizeof trampolines / sizeof trampolines[0] == LOOPS_MAX, "one function for each loop");

/* The lock is held. */
static void set_gate(loop *l) {
    const int64_t launch = loop_gate(&l->length), reduction = loop_gate(&l->reduction_length);
    const bool any = (watchers > 0 && !forked) || (l->op == FERRY_OP_COUNT && launch != LOOP_NEVER);
    atomic_store(&l->gate, any ? 0 : launch < reduction ? launch : reduction);
}

void loop_learn(loop *l, _Atomic int64_t *length, int64_t elements) {
    pthread_mutex_lock(&lock);
    if (atomic_load(length) == LOOP_MEASURED) {
        atomic_store(length, elements);
        set_gate(l);
    }
    pthread_mutex_unlock(&lock);
}

static void set_lengths(int64_t wanted) {
    pthread_mutex_lock(&lock);
    const int64_t length = forked ? LOOP_NEVER : wanted;
    for (int i = 0; i < loop_count; i++) {
        atomic_store(&loops[i].length, length);
        atomic_store(&loops[i].reduction_length, loops[i].reduction != FERRY_REDUCTION_COUNT ? length : LOOP_NEVER);
        set_gate(&loops[i]);
    }
    pthread_mutex_unlock(&lock);
}

void loops_watch(int change) {
    pthread_mutex_lock(&lock);
    watchers += change;
    for (int i = 0; i < loop_count; i++)
        set_gate(&loops[i]);
    pthread_mutex_unlock(&lock);
}

/* A child cannot use its parent's device. What it allocates itself is ordinary memory, and NumPy's loops serve. */
static void close_in_child(void) {
    forked = true;
    for (int i = 0; i < loop_count; i++) {
        atomic_store(&loops[i].length, LOOP_NEVER);
        atomic_store(&loops[i].reduction_length, LOOP_NEVER);
        atomic_store(&loops[i].gate, LOOP_NEVER);
    }
}

static void lock_for_fork(void) {
    pthread_mutex_lock(&lock);
}

static void unlock_in_parent(void) {
    pthread_mutex_unlock(&lock);
}

static void unlock_in_child(void) {
    close_in_child();
    pthread_mutex_unlock(&lock);
}

/* Which full reduction the loop makes, in the type that it has everywhere. */
static ferry_reduction reduction_of(const loop *l) {
    ferry_reduction reduction;
    if (l->op == FERRY_OP_COUNT || l->nin != 2 || l->dtypes[0] != l->dtypes[2] || l->dtypes[1] != l->dtypes[2] ||
        ferry_reduction_find(ferry_op_name(l->op), &reduction) != FERRY_OK)
        return FERRY_REDUCTION_COUNT;
    return reduction;
}

static bool computes(ferry_op op, int nin, const ferry_dtype *types) {
    ferry_dtype result;
    if (op == FERRY_OP_COUNT)
        return types[0] == types[2] && types[1] == types[2] && ferry_dtype_kind(types[2]) != 'c';
    return ferry_op_dtypes(op, types, nin, NULL, &result) == FERRY_OK && result == types[nin];
}

/* Whether ferry computes what NumPy's loop with these types does. */
static bool matches(ferry_op op, int nin, const char *types, loop *out) {
    for (int i = 0; i <= nin; i++) {
        if (!dtype_of_number(types[i], &out->dtypes[i]))
            return false;
        out->signature[i] = types[i];
    }
    return computes(op, nin, out->dtypes);
}

static bool is_known(const PyUFuncObject *ufunc, const int *signature) {
    for (int i = 0; i < loop_count; i++) {
        if (loops[i].ufunc == ufunc && memcmp(loops[i].signature, signature, (size_t)ufunc->nargs * sizeof(int)) == 0)
            return true;
    }
    return false;
}

static void find_loops(ferry_op op, PyUFuncObject *ufunc) {
    for (int i = 0; i < ufunc->ntypes && loop_count < LOOPS_MAX; i++) {
        loop *l = &loops[loop_count];
        *l = (loop){.gate = LOOP_NEVER,
                    .length = LOOP_NEVER,
                    .reduction_length = LOOP_NEVER,
                    .call_length = LOOP_MEASURED,
                    .call_reduction_length = LOOP_MEASURED,
                    .op = op,
                    .nin = ufunc->nin,
                    .ufunc = ufunc,
                    .index = i,
                    .numpy = ufunc->functions[i]};
        if (!matches(op, ufunc->nin, ufunc->types + (ptrdiff_t)i * ufunc->nargs, l) || is_known(ufunc, l->signature))
            continue;
        l->reduction = reduction_of(l);
        loop_count++;
    }
}

/* NumPy's ufunc of that name, a new reference, which its loops keep; NULL, with no exception, when this NumPy has it
 * not. */
static PyUFuncObject *ufunc_named(PyObject *numpy, const char *name) {
    PyObject *object = PyObject_GetAttrString(numpy, name);
    if (object != NULL && PyObject_TypeCheck(object, &PyUFunc_Type))
        return (PyUFuncObject *)object;
    Py_XDECREF(object);
    PyErr_Clear();
    return NULL;
}

static void find_by_name(PyObject *numpy, ferry_op op, const char *name, int nin) {
    PyUFuncObject *ufunc = ufunc_named(numpy, name);
    if (ufunc != NULL && ufunc->nin == nin && ufunc->nout == 1) {
        ufuncs[op] = ufunc;
        find_loops(op, ufunc);
    } else
        Py_XDECREF(ufunc);
}

int loops_find(void) {
    if (loop_count > 0)
        return 0;
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL)
        return -1;
    for (int op = 0; op < FERRY_OP_COUNT; op++)
        find_by_name(numpy, (ferry_op)op, ferry_op_name((ferry_op)op), ferry_op_arity((ferry_op)op));
    find_by_name(numpy, FERRY_OP_COUNT, "matmul", 2);
    Py_DECREF(numpy);
    if (pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
}

bool loops_are_of(ferry_op op, const PyObject *ufunc) {
    return (const PyObject *)ufuncs[op] == ufunc;
}

int64_t loops_call_length(ferry_op op, ferry_dtype dtype, bool reduces) {
    for (int i = 0; i < loop_count; i++) {
        loop *l = &loops[i];
        if (l->op == op && l->dtypes[0] == dtype && (!reduces || l->reduction != FERRY_REDUCTION_COUNT))
            return loop_call_length(l, reduces);
    }
    return LOOP_NEVER;
}

/* What somebody else may have put there since the last time counts as NumPy's. */
static void replace(int number) {
    loop *l = &loops[number];
    const PyUFuncGenericFunction current = l->ufunc->functions[l->index];
    if (current == trampolines[number])
        return;
    /* Known before the trampoline can be called. */
    l->numpy = current;
    PyUFunc_ReplaceLoopBySignature(l->ufunc, trampolines[number], l->signature, NULL);
}

static void put_back(int number) {
    loop *l = &loops[number];
    if (l->ufunc->functions[l->index] == trampolines[number])
        PyUFunc_ReplaceLoopBySignature(l->ufunc, l->numpy, l->signature, NULL);
}

static PyObject *loops_install(PyObject *module, PyObject *argument) {
    (void)module;
    const int64_t length = PyLong_AsLongLong(argument);
    if (length == -1 && PyErr_Occurred())
        return NULL;
    set_lengths(length);
    for (int i = 0; i < loop_count; i++)
        replace(i);
    installed = true;
    Py_RETURN_NONE;
}

static PyObject *loops_uninstall(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    for (int i = 0; i < loop_count; i++)
        put_back(i);
    set_lengths(LOOP_NEVER);
    installed = false;
    Py_RETURN_NONE;
}

static PyObject *loops_installed(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return PyBool_FromLong(installed);
}

static char type_code(int number) {
    PyArray_Descr *description = PyArray_DescrFromType(number);
    const char code = description->type;
    Py_DECREF(description);
    return code;
}

/* (ufunc's name, signature as NumPy writes it, launches, paying length) */
static PyObject *describe_loop(const loop *l) {
    char types[LOOP_OPERANDS + 3] = "";
    int at = 0;
    for (int i = 0; i < l->nin; i++)
        types[at++] = type_code(l->signature[i]);
    types[at++] = '-';
    types[at++] = '>';
    types[at] = type_code(l->signature[l->nin]);
    return Py_BuildValue("ss#KL", l->op != FERRY_OP_COUNT ? ferry_op_name(l->op) : "matmul", types, (Py_ssize_t)at + 1,
                         (unsigned long long)atomic_load(&l->launches), (long long)atomic_load(&l->length));
}

static PyObject *loops_list(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    PyObject *list = PyList_New(0);
    for (int i = 0; i < loop_count && list != NULL; i++) {
        PyObject *entry = describe_loop(&loops[i]);
        if (entry == NULL || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

/* What measuring a loop gives, on the simulator too: its full reduction where it has one. By its place in loops(). */
static PyObject *loops_measure(PyObject *module, PyObject *argument) {
    (void)module;
    const long number = PyLong_AsLong(argument);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || number >= loop_count)
        return PyErr_Format(PyExc_IndexError, "there is no loop %ld", number);
    const loop *l = &loops[number];
    const loop_measure measure = l->op == FERRY_OP_COUNT                 ? loop_measure_product
                                 : l->reduction != FERRY_REDUCTION_COUNT ? loop_measure_reduction
                                                                         : loop_measure_launch;
    return PyLong_FromLongLong(measure(l, (void *)(uintptr_t)l->ufunc->data[l->index]));
}

PyMethodDef loop_methods[] = {
    {"loops_measure", loops_measure, METH_O, NULL},
    {"loops_install", loops_install, METH_O, NULL},
    {"loops_uninstall", loops_uninstall, METH_NOARGS, NULL},
    {"loops_installed", loops_installed, METH_NOARGS, NULL},
    {"loops", loops_list, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
