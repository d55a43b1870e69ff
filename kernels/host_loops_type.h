/*
 * The loops of one compute type: a template, included once per type with these macros defined, which it undefines.
 *
 *   LOOPS               the type's name, as in HOST_LOOP_TABLES
 *   LOOPS_OF            BOOL, INTEGER, FLOAT or MIXED: which lines of ops.def apply
 *   A_STORED, B_STORED  what holds a's and b's bits in memory
 *   T, W, SUFFIX        of the expressions: the value's type, the type that wraps, what TYPED appends
 *   LOAD, STORE         value of stored bits, and back; left out where they are the same
 *   ROUNDED             what STORE raises, of the value and its bits; left out with it
 */

#ifndef LOAD
#define LOAD
#define STORE
#endif
#ifndef ROUNDED
#define ROUNDED(value, bits) 0
#endif
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define JOIN(a, b) PASTE(a, PASTE(_, b))
#define TYPED(function) JOIN(function, SUFFIX)

/* Which lines apply: CLASS_<of>_<classes>(…) makes the loop or nothing. */
#define CLASS_BOOL_BOOL(...) LOOP(__VA_ARGS__)
#define CLASS_BOOL_INTEGERS(...)
#define CLASS_BOOL_FLOATS(...)
#define CLASS_BOOL_ANY(...) LOOP(__VA_ARGS__)
#define CLASS_BOOL_MIXED(...)
#define CLASS_INTEGER_BOOL(...)
#define CLASS_INTEGER_INTEGERS(...) LOOP(__VA_ARGS__)
#define CLASS_INTEGER_FLOATS(...)
#define CLASS_INTEGER_ANY(...) LOOP(__VA_ARGS__)
#define CLASS_INTEGER_MIXED(...)
#define CLASS_FLOAT_BOOL(...)
#define CLASS_FLOAT_INTEGERS(...)
#define CLASS_FLOAT_FLOATS(...) LOOP(__VA_ARGS__)
#define CLASS_FLOAT_ANY(...) LOOP(__VA_ARGS__)
#define CLASS_FLOAT_MIXED(...)
#define CLASS_MIXED_BOOL(...)
#define CLASS_MIXED_INTEGERS(...)
#define CLASS_MIXED_FLOATS(...)
#define CLASS_MIXED_ANY(...)
#define CLASS_MIXED_MIXED(...) LOOP(__VA_ARGS__)
#define LOOP(constant, result, ...) LOOP_##result(constant, __VA_ARGS__)
#define LOOP_SAME(constant, ...)                                                                                       \
    VALUE(constant, __VA_ARGS__)                                                                                       \
    DEFINE(constant, A_STORED, (T), STORE, __VA_ARGS__)
#define LOOP_BOOL(constant, ...) DEFINE(constant, uint8_t, (uint8_t), , __VA_ARGS__)
#define LOOP_FLOAT64(constant, ...)
#define LOOP_REFUSED(constant, ...)

/* Contiguous, and contiguous with a scalar on one side, are loops of their own so that the compiler can vectorise them.
 */
#define DEFINE(constant, R_STORED, convert, store, ...)                                                                \
    static void JOIN(constant, LOOPS)(char *out, int64_t out_stride, const char *pa, int64_t a_stride, const char *pb, \
                                      int64_t b_stride, int64_t n) {                                                   \
        const int64_t a_size = sizeof(A_STORED), b_size = sizeof(B_STORED), out_size = sizeof(R_STORED);               \
        if (out_stride == out_size && a_stride == a_size && b_stride == b_size)                                        \
            STRIDES(out_size, a_size, b_size, R_STORED, convert, store, __VA_ARGS__)                                   \
        else if (out_stride == out_size && a_stride == a_size && b_stride == 0)                                        \
            STRIDES(out_size, a_size, 0, R_STORED, convert, store, __VA_ARGS__)                                        \
        else if (out_stride == out_size && a_stride == 0 && b_stride == b_size)                                        \
            STRIDES(out_size, 0, b_size, R_STORED, convert, store, __VA_ARGS__)                                        \
        else                                                                                                           \
            STRIDES(out_stride, a_stride, b_stride, R_STORED, convert, store, __VA_ARGS__)                             \
    }

#define STRIDES(out_step, a_step, b_step, R_STORED, convert, store, ...)                                               \
    {                                                                                                                  \
        INDEPENDENT                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            A_STORED a_bits;                                                                                           \
            B_STORED b_bits;                                                                                           \
            memcpy(&a_bits, pa + i * (a_step), sizeof a_bits);                                                         \
            memcpy(&b_bits, pb + i * (b_step), sizeof b_bits);                                                         \
            VALUES(LOOPS_OF)                                                                                           \
            R_STORED bits = store(convert(__VA_ARGS__));                                                               \
            memcpy(out + i * (out_step), &bits, sizeof bits);                                                          \
        }                                                                                                              \
    }

/* The value by itself, then the loop that looks at each for exceptions: plain, as only the simulator runs it. */
#define VALUE(constant, ...)                                                                                           \
    __attribute__((unused)) static inline T JOIN(constant, JOIN(LOOPS, value))(T a, T b) {                             \
        return (void)a, (void)b, (T)(__VA_ARGS__);                                                                     \
    }

#define DEFINE_CHECKED(constant, ...)                                                                                  \
    static unsigned JOIN(constant, JOIN(LOOPS, checked))(char *out, int64_t out_stride, const char *pa,                \
                                                         int64_t a_stride, const char *pb, int64_t b_stride,           \
                                                         int64_t n) {                                                  \
        unsigned raised = 0;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            A_STORED a_bits;                                                                                           \
            B_STORED b_bits;                                                                                           \
            memcpy(&a_bits, pa + i * a_stride, sizeof a_bits);                                                         \
            memcpy(&b_bits, pb + i * b_stride, sizeof b_bits);                                                         \
            VALUES(LOOPS_OF)                                                                                           \
            const T r = JOIN(constant, JOIN(LOOPS, value))(a, b);                                                      \
            const A_STORED bits = STORE(r);                                                                            \
            raised |= (__VA_ARGS__) | ROUNDED(r, bits);                                                                \
            memcpy(out + i * out_stride, &bits, sizeof bits);                                                          \
        }                                                                                                              \
        return raised;                                                                                                 \
    }

#define VALUES(of) JOIN(VALUES, of)
#define VALUES_BOOL VALUES_OF(T, T)
#define VALUES_INTEGER VALUES_OF(T, T)
#define VALUES_FLOAT VALUES_OF(T, T)
#define VALUES_MIXED VALUES_OF(A_STORED, B_STORED)
/* An operation of one input does not look at b. */
#define VALUES_OF(A, B)                                                                                                \
    const A a = LOAD(a_bits);                                                                                          \
    const B b = LOAD(b_bits);                                                                                          \
    (void)a, (void)b;

#define FERRY_OP(constant, name, arity)
#define FERRY_LOOP(constant, classes, ...) JOIN(CLASS, JOIN(LOOPS_OF, classes))(constant, __VA_ARGS__)
#define FERRY_RAISES(constant, classes, ...) JOIN(CLASS, JOIN(LOOPS_OF, classes))(constant, RAISES, __VA_ARGS__)
#define LOOP_RAISES(constant, ...) DEFINE_CHECKED(constant, __VA_ARGS__)
#include "ferry/ops.def"
#undef DEFINE
#undef DEFINE_CHECKED
#undef VALUE

#define VALUE(constant, ...)
#define DEFINE(constant, ...) [JOIN(FERRY_OP, constant)].plain = JOIN(constant, LOOPS),
#define DEFINE_CHECKED(constant, ...) [JOIN(FERRY_OP, constant)].checked = JOIN(constant, JOIN(LOOPS, checked)),
const host_loops JOIN(host_loops, LOOPS)[FERRY_OP_COUNT] = {
#include "ferry/ops.def"
};

#undef CLASS_BOOL_ANY
#undef CLASS_BOOL_BOOL
#undef CLASS_BOOL_FLOATS
#undef CLASS_BOOL_INTEGERS
#undef CLASS_BOOL_MIXED
#undef CLASS_FLOAT_ANY
#undef CLASS_FLOAT_BOOL
#undef CLASS_FLOAT_FLOATS
#undef CLASS_FLOAT_INTEGERS
#undef CLASS_FLOAT_MIXED
#undef CLASS_INTEGER_ANY
#undef CLASS_INTEGER_BOOL
#undef CLASS_INTEGER_FLOATS
#undef CLASS_INTEGER_INTEGERS
#undef CLASS_INTEGER_MIXED
#undef CLASS_MIXED_ANY
#undef CLASS_MIXED_BOOL
#undef CLASS_MIXED_FLOATS
#undef CLASS_MIXED_INTEGERS
#undef CLASS_MIXED_MIXED
#undef DEFINE
#undef DEFINE_CHECKED
#undef FERRY_LOOP
#undef FERRY_OP
#undef FERRY_RAISES
#undef JOIN
#undef LOAD
#undef LOOP
#undef LOOP_BOOL
#undef LOOP_FLOAT64
#undef LOOP_RAISES
#undef LOOP_REFUSED
#undef LOOP_SAME
#undef PASTE
#undef PASTE_
#undef ROUNDED
#undef STORE
#undef STRIDES
#undef TYPED
#undef VALUE
#undef VALUES
#undef VALUES_BOOL
#undef VALUES_FLOAT
#undef VALUES_INTEGER
#undef VALUES_MIXED
#undef VALUES_OF
#undef LOOPS
#undef LOOPS_OF
#undef A_STORED
#undef B_STORED
#undef T
#undef W
#undef SUFFIX
