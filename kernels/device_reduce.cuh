/*
 * Reductions: a block takes chunks (kernels/reduce_plan.h says what is combined with what). Its threads are x across
 * results and y across the lanes of one chunk, `span` lanes to a thread; each makes the value of its lanes, and the
 * values of a chunk are combined through shared memory. `Op` is an operation whose types are all the accumulator's.
 */
struct reduce_threads {
    int64_t chunks;       /* of each result */
    int64_t target_bytes; /* from one chunk's value to the next */
    uint32_t x_shift, x_mask, y_shift, y_mask;
    uint32_t span;           /* a power of two */
    uint32_t results_follow; /* neighbouring blocks take neighbouring results, else neighbouring chunks */
};

#define REDUCE_LEAVES 8 /* lanes that a thread goes over together */
#define REDUCE_DEPTH 8  /* of the tree over REDUCE_LANES / REDUCE_LEAVES leaves, and one */

/* Combines neighbours among the first `count` of n values until one is left; n is a power of two. */
template <class Op, class T, int n> FERRY_MATH T combine_values(T (&value)[n], uint32_t count) {
#pragma unroll
    for (int step = 1; step < n; step *= 2) {
#pragma unroll
        for (int i = 0; i + step < n; i += 2 * step) {
            if (i + step < count)
                value[i] = combine<Op>(value[i], value[i + step]);
        }
    }
    return value[0];
}

/* One chunk of one result, as its threads see it. */
template <class In, bool aligned, int rank, class Geometry> struct reduce_source {
    const char *data; /* the result's element 0 */
    const Geometry &geometry;
    int64_t first; /* the chunk's first element */
    uint32_t count;
    __device__ __forceinline__ In element(uint32_t i) const {
        int64_t offset[3];
        place<rank>(geometry, first + i, offset);
        return load<In, aligned>(data + offset[1]);
    }
};

/* Lanes lane ... lane + n - 1 of a chunk, n at most REDUCE_LEAVES: the loads of a round go together. */
template <class Op, class In, class Source>
FERRY_MATH typename Op::A reduce_leaves(const Source &source, uint32_t lane, uint32_t n) {
    typedef typename Op::A T;
    T value[REDUCE_LEAVES];
#pragma unroll
    for (int i = 0; i < REDUCE_LEAVES; i++) {
        if (i < n)
            value[i] = cast<T>(source.element(lane + i));
    }
    for (uint32_t at = lane + REDUCE_LANES; at < source.count; at += REDUCE_LANES) {
        In next[REDUCE_LEAVES];
#pragma unroll
        for (int i = 0; i < REDUCE_LEAVES; i++) {
            if (i < n && at + i < source.count)
                next[i] = source.element(at + i);
        }
#pragma unroll
        for (int i = 0; i < REDUCE_LEAVES; i++) {
            if (i < n && at + i < source.count)
                value[i] = combine<Op>(value[i], cast<T>(next[i]));
        }
    }
    return combine_values<Op>(value, n);
}

/*
 * n lanes from `lane` on. Values of equally many leaves are combined as they come, as a binary counter carries; what is
 * left at the end, from the back.
 */
template <class Op, class In, class Source>
FERRY_MATH typename Op::A reduce_lanes(const Source &source, uint32_t lane, uint32_t n) {
    typedef typename Op::A T;
    T waiting[REDUCE_DEPTH];
    int depth = 0;
    for (uint32_t done = 0; done < n; done += REDUCE_LEAVES) {
        T value = reduce_leaves<Op, In>(source, lane + done, n - done < REDUCE_LEAVES ? n - done : REDUCE_LEAVES);
        for (uint32_t carry = done / REDUCE_LEAVES; carry & 1; carry >>= 1)
            value = combine<Op>(waiting[--depth], value);
        waiting[depth++] = value;
    }
    T value = waiting[--depth];
    while (depth > 0)
        value = combine<Op>(waiting[--depth], value);
    return value;
}

/* Elements of the pack that begins at element i of a chunk. */
template <bool whole> FERRY_MATH uint32_t pack_count(uint32_t count, uint32_t i) {
    return whole || i + REDUCE_PACK <= count ? REDUCE_PACK : i < count ? count - i : 0;
}

/* REDUCE_PACK lanes of a contiguous and aligned chunk, the loads of all rounds together. */
template <class Op, class In, bool whole>
FERRY_MATH typename Op::A reduce_pack(const char *data, uint32_t count, uint32_t lane) {
    typedef typename Op::A T;
    pack<In, REDUCE_PACK> loaded[REDUCE_ROUNDS];
    T value[REDUCE_PACK];
#pragma unroll
    for (int round = 0; round < REDUCE_ROUNDS; round++) {
        const uint32_t i = lane + round * REDUCE_LANES, n = pack_count<whole>(count, i);
        if (n == REDUCE_PACK)
            load_pack<In, REDUCE_PACK, false>(loaded[round], data, i / REDUCE_PACK);
#pragma unroll
        for (int v = 0; v < REDUCE_PACK; v++) {
            if (n < REDUCE_PACK && v < n)
                loaded[round].element[v] = ((const In *)data)[i + v];
        }
    }
#pragma unroll
    for (int round = 0; round < REDUCE_ROUNDS; round++) {
        const uint32_t n = pack_count<whole>(count, lane + round * REDUCE_LANES);
#pragma unroll
        for (int v = 0; v < REDUCE_PACK; v++) {
            const T element = cast<T>(loaded[round].element[v]);
            if (v < n)
                value[v] = round == 0 ? element : combine<Op>(value[v], element);
        }
    }
    return combine_values<Op>(value, pack_count<whole>(count, lane));
}

template <class Op, class In, class Out, bool packed, bool aligned, int kept_rank, int reduced_rank, class Kept,
          class Reduced>
FERRY_MATH void run_reduce(char *target, const char *source, const Kept &kept, const Reduced &reduced,
                           const reduce_threads &threads) {
    typedef typename Op::A T;
    __shared__ T values[REDUCE_THREADS];
    const uint32_t t = threadIdx.x;
    const uint32_t x = t >> threads.x_shift & threads.x_mask, y = t >> threads.y_shift & threads.y_mask;
    const uint32_t lane = y * threads.span;
    const int64_t groups = (kept.n + threads.x_mask) / (threads.x_mask + 1), tasks = groups * threads.chunks;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t divisor = threads.results_follow ? groups : threads.chunks;
        const int64_t quotient = task / divisor, rest = task - quotient * divisor;
        const int64_t group = threads.results_follow ? rest : quotient;
        const int64_t chunk = threads.results_follow ? quotient : rest;
        const int64_t result = group * (threads.x_mask + 1) + x, first = chunk * REDUCE_CHUNK;
        const uint32_t count = reduced.n - first < REDUCE_CHUNK ? (uint32_t)(reduced.n - first) : REDUCE_CHUNK;
        const uint32_t lanes = count < REDUCE_LANES ? count : REDUCE_LANES;
        const bool here = result < kept.n && lane < lanes;
        int64_t offset[3];
        if (here) {
            place<kept_rank>(kept, result, offset);
            const char *data = source + offset[1];
            if constexpr (packed) {
                data += first * sizeof(In);
                values[t] = count == REDUCE_CHUNK ? reduce_pack<Op, In, true>(data, count, lane)
                                                  : reduce_pack<Op, In, false>(data, count, lane);
            } else {
                const reduce_source<In, aligned, reduced_rank, Reduced> elements = {data, reduced, first, count};
                values[t] =
                    reduce_lanes<Op, In>(elements, lane, lanes - lane < threads.span ? lanes - lane : threads.span);
            }
        }
        for (uint32_t step = 1; step <= threads.y_mask; step *= 2) {
            __syncthreads();
            if (here && (y & (2 * step - 1)) == 0 && lane + step * threads.span < lanes)
                values[t] = combine<Op>(values[t], values[t + (step << threads.y_shift)]);
        }
        if (here && y == 0)
            store<Out, aligned>(target + offset[0] + chunk * threads.target_bytes, cast<Out>(values[t]));
        __syncthreads();
    }
}
