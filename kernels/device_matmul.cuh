/*
 * Matrix products: a block takes a tile of a result, MATMUL_TILE in both directions, and goes along `inner` in steps
 * through shared memory. Its threads are 16 by 16, each with every 16th row and column of the tile. Sums are made in
 * order of `inner`, from zero. `Product` and `Sum` are operations whose types are all the accumulator's.
 */
struct matmul_shape {
    int64_t rows, columns, inner;
    int64_t row_stride[3], column_stride[3]; /* of out, a, b, in bytes */
};

#define MATMUL_SIDE 16 /* threads in each direction */
#define MATMUL_EACH (MATMUL_TILE / MATMUL_SIDE)

/*
 * Fills tile[step][line] from the lines line0 ... of an operand, step0 ... along each; neighbouring threads go where
 * neighbours in memory are. What is outside is not looked at later.
 */
template <class In, class T>
FERRY_MATH void load_tile(T (&tile)[MATMUL_STEP][MATMUL_TILE + 1], const char *data, int64_t line0, int64_t lines,
                          int64_t line_stride, int64_t step0, int64_t steps, int64_t step_stride) {
    const bool along_lines = step_stride <= line_stride;
#pragma unroll
    for (int i = 0; i < MATMUL_TILE * MATMUL_STEP / MATMUL_THREADS; i++) {
        const uint32_t e = threadIdx.x + i * MATMUL_THREADS;
        const uint32_t line = along_lines ? e / MATMUL_STEP : e % MATMUL_TILE;
        const uint32_t step = along_lines ? e % MATMUL_STEP : e / MATMUL_TILE;
        if (line0 + line < lines && step0 + step < steps)
            tile[step][line] =
                cast<T>(*(const In *)(data + (line0 + line) * line_stride + (step0 + step) * step_stride));
    }
}

/* One tile of one result. */
template <class Product, class Sum, class In>
FERRY_MATH void multiply_tile(char *out, const char *a, const char *b, const matmul_shape &s, int64_t row0,
                              int64_t column0) {
    typedef typename Sum::A T;
    __shared__ T left[MATMUL_STEP][MATMUL_TILE + 1], right[MATMUL_STEP][MATMUL_TILE + 1];
    const uint32_t x = threadIdx.x % MATMUL_SIDE, y = threadIdx.x / MATMUL_SIDE;
    T sum[MATMUL_EACH][MATMUL_EACH];
#pragma unroll
    for (int i = 0; i < MATMUL_EACH; i++) {
#pragma unroll
        for (int j = 0; j < MATMUL_EACH; j++)
            sum[i][j] = convert<T>(0);
    }
    for (int64_t step0 = 0; step0 < s.inner; step0 += MATMUL_STEP) {
        load_tile<In>(left, a, row0, s.rows, s.row_stride[1], step0, s.inner, s.column_stride[1]);
        load_tile<In>(right, b, column0, s.columns, s.column_stride[2], step0, s.inner, s.row_stride[2]);
        __syncthreads();
        const int steps = s.inner - step0 < MATMUL_STEP ? (int)(s.inner - step0) : MATMUL_STEP;
        for (int step = 0; step < steps; step++) {
#pragma unroll
            for (int i = 0; i < MATMUL_EACH; i++) {
#pragma unroll
                for (int j = 0; j < MATMUL_EACH; j++)
                    sum[i][j] = combine<Sum>(
                        sum[i][j], combine<Product>(left[step][y + i * MATMUL_SIDE], right[step][x + j * MATMUL_SIDE]));
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < MATMUL_EACH; i++) {
#pragma unroll
        for (int j = 0; j < MATMUL_EACH; j++) {
            const int64_t row = row0 + y + i * MATMUL_SIDE, column = column0 + x + j * MATMUL_SIDE;
            if (row < s.rows && column < s.columns)
                *(In *)(out + row * s.row_stride[0] + column * s.column_stride[0]) = cast<In>(sum[i][j]);
        }
    }
}

template <class Product, class Sum, class In, int rank, class Geometry>
FERRY_MATH void run_matmul(char *out, const char *a, const char *b, const Geometry &stack, const matmul_shape &s) {
    const int64_t across = (s.columns + MATMUL_TILE - 1) / MATMUL_TILE, down = (s.rows + MATMUL_TILE - 1) / MATMUL_TILE;
    for (int64_t task = blockIdx.x; task < across * down * stack.n; task += gridDim.x) {
        const int64_t matrix = task / (across * down), tile = task - matrix * (across * down);
        int64_t offset[3];
        place<rank>(stack, matrix, offset);
        multiply_tile<Product, Sum, In>(out + offset[0], a + offset[1], b + offset[2], s, tile / across * MATMUL_TILE,
                                        tile % across * MATMUL_TILE);
    }
}
