#include "walk.h"

#include "layout.h"

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Starts at the axis's other end. */
static void turn_axis(view_walk *walk, int i) {
    walk->dst += walk->dst_strides[i] * (walk->shape[i] - 1);
    walk->src += walk->src_strides[i] * (walk->shape[i] - 1);
    walk->dst_strides[i] = -walk->dst_strides[i];
    walk->src_strides[i] = -walk->src_strides[i];
}

static void take_axes(view_walk *walk, const ferry_view *dst, const ferry_view *src) {
    for (int i = 0; i < dst->ndim; ++i) {
        if (dst->shape[i] == 1) {
            continue;
        }
        int last = walk->ndim++;
        walk->shape[last] = dst->shape[i];
        walk->dst_strides[last] = dst->strides[i];
        walk->src_strides[last] = src->strides[i];
        if (dst->strides[i] < 0 || (dst->strides[i] == 0 && src->strides[i] < 0)) {
            turn_axis(walk, last);
        }
    }
}

static bool is_outer(const view_walk *walk, int i, int j) {
    if (walk->dst_strides[i] != walk->dst_strides[j]) {
        return walk->dst_strides[i] > walk->dst_strides[j];
    }
    return magnitude(walk->src_strides[i]) > magnitude(walk->src_strides[j]);
}

static void swap(int64_t *numbers, int i, int j) {
    int64_t kept = numbers[i];
    numbers[i] = numbers[j];
    numbers[j] = kept;
}

/* By insertion: few axes, mostly in order already. */
static void sort_axes(view_walk *walk) {
    for (int i = 1; i < walk->ndim; ++i) {
        for (int j = i; j > 0 && is_outer(walk, j, j - 1); --j) {
            swap(walk->shape, j, j - 1);
            swap(walk->dst_strides, j, j - 1);
            swap(walk->src_strides, j, j - 1);
        }
    }
}

static bool is_one_axis(const view_walk *walk, int outer, int inner) {
    return walk->dst_strides[outer] == walk->dst_strides[inner] * walk->shape[inner] &&
           walk->src_strides[outer] == walk->src_strides[inner] * walk->shape[inner];
}

static void merge_axes(view_walk *walk) {
    int last = 0;
    for (int i = 1; i < walk->ndim; ++i) {
        int64_t extent = walk->shape[i];
        if (is_one_axis(walk, last, i)) {
            extent *= walk->shape[last];
        } else {
            ++last;
        }
        walk->shape[last] = extent;
        walk->dst_strides[last] = walk->dst_strides[i];
        walk->src_strides[last] = walk->src_strides[i];
    }
    walk->ndim = walk->ndim > 0 ? last + 1 : 0;
}

view_walk walk_make(const ferry_view *dst, const ferry_view *src) {
    view_walk result = {.dst = dst->data, .src = src->data};
    take_axes(&result, dst, src);
    sort_axes(&result);
    merge_axes(&result);
    return result;
}

/* Whether each step of the walk goes past everything before it. */
static bool goes_upwards(const view_walk *walk, int64_t bytes) {
    int64_t reach = bytes;
    for (int i = walk->ndim - 1; i >= 0; --i) {
        if (walk->dst_strides[i] < reach) {
            return false;
        }
        reach += walk->dst_strides[i] * (walk->shape[i] - 1);
    }
    return true;
}

bool walk_orders_overlap(view_walk *walk, int64_t bytes) {
    for (int i = 0; i < walk->ndim; ++i) {
        if (walk->dst_strides[i] != walk->src_strides[i]) {
            return false;
        }
    }
    if (!goes_upwards(walk, bytes)) {
        return false;
    }
    /* What a write at an element hits of src lies below the element when dst is below src, and has been read going
     * upwards. */
    if ((uintptr_t)walk->dst > (uintptr_t)walk->src) {
        for (int i = 0; i < walk->ndim; ++i) {
            turn_axis(walk, i);
        }
    }
    return true;
}

void walk_run(const view_walk *walk, ferry_cast_function loop) {
    int64_t index[FERRY_MAX_DIMS] = {0};
    char *dst = walk->dst;
    const char *src = walk->src;
    int inner = walk->ndim - 1;
    if (inner < 0) {
        loop(dst, 0, src, 0, 1);
        return;
    }
    for (;;) {
        loop(dst, walk->dst_strides[inner], src, walk->src_strides[inner], walk->shape[inner]);
        int axis = inner - 1;
        while (axis >= 0 && ++index[axis] == walk->shape[axis]) {
            index[axis] = 0;
            dst -= walk->dst_strides[axis] * (walk->shape[axis] - 1);
            src -= walk->src_strides[axis] * (walk->shape[axis] - 1);
            --axis;
        }
        if (axis < 0) {
            return;
        }
        dst += walk->dst_strides[axis];
        src += walk->src_strides[axis];
    }
}
