/*
 * The frame of every generated kernel: elements in memory, their conversion, and the loops over them. A kernel's own
 * part, which kernels/device_source.c writes, is a struct with
 *
 *     typedef ... A, B, Out;                                    elements in memory
 *     static __device__ Out apply(A a, B b, unsigned &raised);  adds the exceptions, where they are asked for
 */

/* Elements. A type of its own for each dtype, so that overloads tell float16 from uint16. */
struct dtype_bool {
    uint8_t bits;
};
struct dtype_float16 {
    uint16_t bits;
};
struct dtype_complex64 {
    float real, imag;
};
struct dtype_complex128 {
    double real, imag;
};
typedef int8_t dtype_int8;
typedef uint8_t dtype_uint8;
typedef int16_t dtype_int16;
typedef uint16_t dtype_uint16;
typedef int32_t dtype_int32;
typedef uint32_t dtype_uint32;
typedef int64_t dtype_int64;
typedef uint64_t dtype_uint64;
typedef float dtype_float32;
typedef double dtype_float64;

template <class X, class Y> struct same { static const bool value = false; };
template <class X> struct same<X, X> { static const bool value = true; };
template <class X> struct is_real { static const bool value = same<X, float>::value || same<X, double>::value; };
template <class X> struct is_complex {
    static const bool value = same<X, dtype_complex64>::value || same<X, dtype_complex128>::value;
};

template <class S> FERRY_MATH S value_of(S element) {
    return element;
}
FERRY_MATH uint8_t value_of(dtype_bool element) {
    return element.bits != 0;
}
FERRY_MATH float value_of(dtype_float16 element) {
    return float_of_half(element.bits);
}

/* docs/casting.md: towards zero, the least integer for NaN and what does not fit. The device's own conversion
 * saturates. */
FERRY_MATH int32_t int32_of(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : -2147483647 - 1;
}
FERRY_MATH int64_t int64_of(double x) {
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : -9223372036854775807 - 1;
}
FERRY_MATH uint64_t uint64_of(double x) {
    return x >= 9223372036854775808.0 ? (uint64_t)int64_of(x - 9223372036854775808.0) ^ 1ull << 63
                                      : (uint64_t)int64_of(x);
}

template <class To> FERRY_MATH To integer_of(double x) {
    if constexpr (same<To, uint64_t>::value)
        return uint64_of(x);
    else if constexpr (same<To, int64_t>::value || same<To, uint32_t>::value)
        return (To)int64_of(x);
    else
        return (To)int32_of(x);
}

/* A value of an integer, real or complex type to an element. */
template <class To, class From> FERRY_MATH To convert(From value) {
    if constexpr (is_complex<To>::value) {
        if constexpr (is_complex<From>::value)
            return To{(decltype(To::real))value.real, (decltype(To::real))value.imag};
        else
            return To{(decltype(To::real))value, 0};
    } else if constexpr (same<To, dtype_bool>::value) {
        if constexpr (is_complex<From>::value)
            return To{(uint8_t)(value.real != 0 || value.imag != 0)};
        else
            return To{(uint8_t)(value != 0)};
    } else if constexpr (is_complex<From>::value) {
        return convert<To>(value.real);
    } else if constexpr (same<To, dtype_float16>::value) {
        if constexpr (same<From, double>::value)
            return To{half_of_double(value)};
        else
            return To{half_of_float((float)value)};
    } else if constexpr (is_real<From>::value && !is_real<To>::value) {
        return integer_of<To>(value);
    } else {
        return (To)value;
    }
}

/* An element to an element; the same type keeps its bits. */
template <class To, class From> FERRY_MATH To cast(From element) {
    if constexpr (same<To, From>::value)
        return element;
    else
        return convert<To>(value_of(element));
}

/* What rounding a value of a real or integer type to an element raises. */
template <class To, class From> FERRY_MATH unsigned narrowed(From value, To element) {
    const bool to_half = same<To, dtype_float16>::value;
    if constexpr (is_complex<To>::value)
        return narrowed(value, element.real);
    else if constexpr (same<From, float>::value && to_half)
        return narrowed_f32(value, value_of(element), FERRY_SMALLEST_F16);
    else if constexpr (to_half || (same<From, double>::value && same<To, float>::value))
        return narrowed_f64((double)value, value_of(element), to_half ? FERRY_SMALLEST_F16 : FERRY_SMALLEST_F32);
    else
        return 0;
}

template <int bytes> struct chunk_of { typedef uint4 type; };
template <> struct chunk_of<1> { typedef uint8_t type; };
template <> struct chunk_of<2> { typedef uint16_t type; };
template <> struct chunk_of<4> { typedef uint32_t type; };
template <> struct chunk_of<8> { typedef uint2 type; };

/* V elements that travel in the widest loads and stores. */
template <class S, int V> union pack {
    typedef typename chunk_of<V * sizeof(S)>::type chunk;
    static const int chunks = V * sizeof(S) / sizeof(chunk);
    S element[V];
    chunk part[chunks];
};

/* The i-th pack; one element repeated where the operand is a scalar. */
template <class S, int V, bool scalar> FERRY_MATH void load_pack(pack<S, V> &p, const char *data, int64_t i) {
    typedef typename pack<S, V>::chunk chunk;
    if constexpr (scalar) {
#pragma unroll
        for (int v = 0; v < V; v++)
            p.element[v] = *(const S *)data;
    } else {
#pragma unroll
        for (int c = 0; c < pack<S, V>::chunks; c++)
            p.part[c] = ((const chunk *)data)[i * pack<S, V>::chunks + c];
    }
}

template <class S, int V> FERRY_MATH void store_pack(char *data, int64_t i, const pack<S, V> &p) {
    typedef typename pack<S, V>::chunk chunk;
#pragma unroll
    for (int c = 0; c < pack<S, V>::chunks; c++)
        ((chunk *)data)[i * pack<S, V>::chunks + c] = p.part[c];
}

/* The operation alone, for kernels that nobody asks what it raised. */
template <class Op> FERRY_MATH typename Op::Out combine(typename Op::A a, typename Op::B b) {
    unsigned ignored = 0;
    return Op::apply(a, b, ignored);
}

FERRY_MATH int64_t first_index() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
FERRY_MATH int64_t index_step() {
    return (int64_t)gridDim.x * blockDim.x;
}

/*
 * Contiguous operands and scalars: `packs` packs of V elements, of which every operand must be aligned to min(16, V
 * elements), then the rest up to n one by one. packs is 0 where they are not aligned. With b_is_a, b is not read. Like
 * run_strided, gives what the operation raised for the thread's elements.
 */
template <class Op, int V, bool a_scalar, bool b_scalar, bool b_is_a>
FERRY_MATH unsigned run_contiguous(char *out, const char *a, const char *b, int64_t n, int64_t packs) {
    typedef typename Op::A A;
    typedef typename Op::B B;
    typedef typename Op::Out Out;
    unsigned raised = 0;
    for (int64_t i = first_index(); i < packs; i += index_step()) {
        pack<A, V> pa;
        pack<B, V> pb;
        pack<Out, V> po;
        load_pack<A, V, a_scalar>(pa, a, i);
        if constexpr (!b_is_a)
            load_pack<B, V, b_scalar>(pb, b, i);
#pragma unroll
        for (int v = 0; v < V; v++) {
            if constexpr (b_is_a)
                po.element[v] = Op::apply(pa.element[v], pa.element[v], raised);
            else
                po.element[v] = Op::apply(pa.element[v], pb.element[v], raised);
        }
        store_pack<Out, V>(out, i, po);
    }
    for (int64_t i = packs * V + first_index(); i < n; i += index_step()) {
        const A x = ((const A *)a)[a_scalar ? 0 : i];
        if constexpr (b_is_a)
            ((Out *)out)[i] = Op::apply(x, x, raised);
        else
            ((Out *)out)[i] = Op::apply(x, ((const B *)b)[b_scalar ? 0 : i], raised);
    }
    return raised;
}

/*
 * The shape of a strided pass. Axis 0 needs no division. i / extent is (mulhi(i, magic) + i) >> shift for i < 2^31
 * (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
 */
template <int rank> struct narrow_geometry {
    int64_t n;
    int64_t stride[3][rank]; /* of out, a, b, in bytes */
    uint32_t extent[rank], magic[rank], shift[rank];
    __device__ __forceinline__ void split(uint32_t &i, int axis, int64_t &coordinate) const {
        uint32_t quotient = (__umulhi(i, magic[axis]) + i) >> shift[axis];
        coordinate = i - quotient * extent[axis];
        i = quotient;
    }
    typedef uint32_t index;
};
template <int rank> struct wide_geometry {
    int64_t n;
    int64_t stride[3][rank];
    int64_t extent[rank];
    __device__ __forceinline__ void split(int64_t &i, int axis, int64_t &coordinate) const {
        int64_t quotient = i / extent[axis];
        coordinate = i - quotient * extent[axis];
        i = quotient;
    }
    typedef int64_t index;
};

/* An element at any alignment goes byte by byte: the device faults on anything wider that is not aligned to its size.
 */
template <class S, bool aligned> FERRY_MATH S load(const char *at) {
    if constexpr (aligned) {
        return *(const S *)at;
    } else {
        union bytes {
            char byte[sizeof(S)];
            S element;
        } loaded;
#pragma unroll
        for (int i = 0; i < (int)sizeof(S); i++)
            loaded.byte[i] = at[i];
        return loaded.element;
    }
}
template <class S> FERRY_MATH void store_bytes(char *at, const S &element) {
#pragma unroll
    for (int i = 0; i < (int)sizeof(S); i++)
        at[i] = ((const char *)&element)[i];
}
/*
 * By way of memory: from a register that an integer was converted into, ptxas 13.0 stores the integer's own low byte
 * instead of the half's.
 */
FERRY_MATH void store_bytes(char *at, const dtype_float16 &element) {
    volatile uint16_t bits = element.bits;
    const volatile char *bytes = (const volatile char *)&bits;
    at[0] = bytes[0];
    at[1] = bytes[1];
}
template <class S, bool aligned> FERRY_MATH void store(char *at, S element) {
    if constexpr (aligned) {
        *(S *)at = element;
    } else {
        store_bytes(at, element);
    }
}

/* The places of element i in the three operands. */
template <int rank, class Geometry> FERRY_MATH void place(const Geometry &g, int64_t i, int64_t (&offset)[3]) {
    typename Geometry::index rest = (typename Geometry::index)i;
    offset[0] = offset[1] = offset[2] = 0;
#pragma unroll
    for (int axis = rank - 1; axis >= 0; axis--) {
        int64_t coordinate = rest;
        if (axis > 0)
            g.split(rest, axis, coordinate);
#pragma unroll
        for (int k = 0; k < 3; k++)
            offset[k] += coordinate * g.stride[k][axis];
    }
}

template <class Op, int rank, bool aligned, bool b_is_a, class Geometry>
FERRY_MATH unsigned run_strided(char *out, const char *a, const char *b, const Geometry &g) {
    typedef typename Op::A A;
    typedef typename Op::B B;
    typedef typename Op::Out Out;
    unsigned raised = 0;
    for (int64_t i = first_index(); i < g.n; i += index_step()) {
        int64_t offset[3];
        place<rank>(g, i, offset);
        const A x = load<A, aligned>(a + offset[1]);
        if constexpr (b_is_a)
            store<Out, aligned>(out + offset[0], Op::apply(x, x, raised));
        else
            store<Out, aligned>(out + offset[0], Op::apply(x, load<B, aligned>(b + offset[2]), raised));
    }
    return raised;
}
