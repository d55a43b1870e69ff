/* DLPack: what is handed out says what the array is, keeps it, and comes back as it was. */
#include <stddef.h>

#include "ferry/movement.h"
#include "ferry/stats.h"
#include "tests/test.h"
#include "views/dlpack_abi.h"

static uint64_t live_bytes(void) {
    ferry_stats stats;
    REQUIRE_OK(ferry_stats_get(&stats));
    return stats.live_bytes;
}

static ferry_array array_of(ferry_dtype dtype, int ndim, const int64_t *shape) {
    ferry_array array;
    REQUIRE_OK(ferry_array_zeros(NULL, dtype, ndim, shape, &array));
    return array;
}

/* Offsets on a 64-bit machine, counted by hand from the specification. */
static void structures_lie_as_specified(void) {
    CHECK_UINT(sizeof(struct dlpack_tensor), 48);
    CHECK_UINT(offsetof(struct dlpack_tensor, device), 8);
    CHECK_UINT(offsetof(struct dlpack_tensor, ndim), 16);
    CHECK_UINT(offsetof(struct dlpack_tensor, dtype), 20);
    CHECK_UINT(offsetof(struct dlpack_tensor, shape), 24);
    CHECK_UINT(offsetof(struct dlpack_tensor, byte_offset), 40);
    CHECK_UINT(offsetof(struct DLManagedTensor, context), 48);
    CHECK_UINT(offsetof(struct DLManagedTensor, deleter), 56);
    CHECK_UINT(offsetof(struct DLManagedTensorVersioned, context), 8);
    CHECK_UINT(offsetof(struct DLManagedTensorVersioned, flags), 24);
    CHECK_UINT(offsetof(struct DLManagedTensorVersioned, tensor), 32);
}

static void a_tensor_describes_the_array(void) {
    ferry_array array = array_of(FERRY_FLOAT32, 2, (const int64_t[]){30, 20});
    ferry_array part = array;
    REQUIRE_OK(ferry_view_slice(&array.view, 2, (const ferry_slice[]){{2, 20, 3}, {15, 3, -2}}, &part.view));
    struct DLManagedTensorVersioned *tensor;
    REQUIRE_OK(ferry_dlpack_export(&part, NULL, &tensor));
    CHECK_UINT(tensor->version.major, 1);
    CHECK_UINT(tensor->flags, 0);
    CHECK(tensor->tensor.data == part.view.data);
    CHECK_INT(tensor->tensor.device.type, 13);
    CHECK_INT(tensor->tensor.device.id, 0);
    CHECK_INT(tensor->tensor.ndim, 2);
    CHECK_INT(tensor->tensor.dtype.code, 2);
    CHECK_INT(tensor->tensor.dtype.bits, 32);
    CHECK_INT(tensor->tensor.dtype.lanes, 1);
    CHECK_INT(tensor->tensor.shape[0], 6);
    CHECK_INT(tensor->tensor.shape[1], 6);
    CHECK_INT(tensor->tensor.strides[0], 60);
    CHECK_INT(tensor->tensor.strides[1], -2);
    CHECK_UINT(tensor->tensor.byte_offset, 0);
    tensor->deleter(tensor);
    ferry_array_release(&array);
}

static void a_tensor_keeps_the_memory(void) {
    const uint64_t before = live_bytes();
    ferry_array array = array_of(FERRY_INT64, 1, (const int64_t[]){100000});
    ((int64_t *)array.view.data)[99999] = 42;
    struct DLManagedTensorVersioned *versioned;
    struct DLManagedTensor *plain;
    REQUIRE_OK(ferry_dlpack_export(&array, NULL, &versioned));
    REQUIRE_OK(ferry_dlpack_export_unversioned(&array, NULL, &plain));
    ferry_array_release(&array);
    ferry_dlpack_delete(versioned);
    CHECK(live_bytes() > before);
    CHECK_INT(((int64_t *)plain->tensor.data)[99999], 42);
    ferry_dlpack_delete_unversioned(plain);
    ferry_dlpack_delete(NULL);
    CHECK_UINT(live_bytes(), before);
}

/* Every dtype, both structures: the array that comes back is a view of the same memory. */
static void what_is_exported_can_be_imported(void) {
    const uint64_t before = live_bytes();
    for (ferry_dtype dtype = 0; dtype < FERRY_DTYPE_COUNT; dtype++) {
        ferry_array array = array_of(dtype, 3, (const int64_t[]){4, 5, 600}), back, plain_back;
        struct DLManagedTensorVersioned *tensor;
        struct DLManagedTensor *plain;
        REQUIRE_OK(ferry_dlpack_export(&array, NULL, &tensor));
        REQUIRE_OK(ferry_dlpack_import(tensor, &back));
        REQUIRE_OK(ferry_dlpack_export_unversioned(&back, NULL, &plain));
        REQUIRE_OK(ferry_dlpack_import_unversioned(plain, &plain_back));
        const ferry_view *views[] = {&back.view, &plain_back.view};
        for (int i = 0; i < 2; i++) {
            CHECK(views[i]->data == array.view.data && views[i]->dtype == dtype && !views[i]->readonly);
            CHECK_INT(views[i]->ndim, 3);
            CHECK_MEMORY(views[i]->shape, array.view.shape, 3 * sizeof(int64_t));
            CHECK_MEMORY(views[i]->strides, array.view.strides, 3 * sizeof(int64_t));
        }
        ferry_array_release(&array);
        ferry_array_release(&back);
        ferry_array_release(&plain_back);
    }
    CHECK_UINT(live_bytes(), before);
}

static void scalars_and_empty_arrays(void) {
    ferry_array scalar = array_of(FERRY_FLOAT64, 0, NULL), empty = array_of(FERRY_FLOAT64, 2, (const int64_t[]){0, 3});
    struct DLManagedTensorVersioned *tensor;
    ferry_array back;
    REQUIRE_OK(ferry_dlpack_export(&scalar, NULL, &tensor));
    CHECK_INT(tensor->tensor.ndim, 0);
    REQUIRE_OK(ferry_dlpack_import(tensor, &back));
    CHECK(back.view.data == scalar.view.data && back.view.ndim == 0);
    ferry_array_release(&back);
    REQUIRE_OK(ferry_dlpack_export(&empty, NULL, &tensor));
    CHECK(tensor->tensor.data == NULL);
    REQUIRE_OK(ferry_dlpack_import(tensor, &back));
    CHECK_INT(back.view.shape[1], 3);
    CHECK_INT(ferry_view_size(&back.view), 0);
    ferry_array_release(&back);
    ferry_array_release(&scalar);
    ferry_array_release(&empty);
}

static void read_only_arrays_say_so(void) {
    ferry_array array = array_of(FERRY_INT32, 1, (const int64_t[]){1}), wide = array, back;
    REQUIRE_OK(ferry_view_broadcast(&array.view, 2, (const int64_t[]){7, 5}, &wide.view));
    struct DLManagedTensorVersioned *tensor;
    struct DLManagedTensor *plain;
    REQUIRE_OK(ferry_dlpack_export(&wide, &(ferry_dlpack_options){.copied = true}, &tensor));
    CHECK_UINT(tensor->flags, 3);
    REQUIRE_OK(ferry_dlpack_import(tensor, &back));
    CHECK(back.view.readonly);
    CHECK_INT(back.view.strides[0], 0);
    ferry_array_release(&back);
    CHECK_STATUS(ferry_dlpack_export_unversioned(&wide, NULL, &plain), FERRY_UNSUPPORTED);
    ferry_array_release(&array);
}

/* The CPU gets an array when it is home, managed memory stays where it is. */
static void each_device_finds_the_array_where_it_looks(void) {
    ferry_array array = array_of(FERRY_FLOAT64, 1, (const int64_t[]){100000});
    struct DLManagedTensorVersioned *tensor;
    REQUIRE_OK(ferry_prefetch(&array.view, 0, NULL));
    REQUIRE_OK(ferry_dlpack_export(&array, NULL, &tensor));
    CHECK_INT(ferry_view_place(&array.view), 0);
    tensor->deleter(tensor);
    REQUIRE_OK(ferry_dlpack_export(&array, &(ferry_dlpack_options){.type = FERRY_DLPACK_CPU}, &tensor));
    CHECK_INT(ferry_view_place(&array.view), FERRY_PLACE_HOST);
    CHECK_INT(tensor->tensor.device.type, 1);
    tensor->deleter(tensor);
    ferry_array_release(&array);
}

static void count_release(void *context) {
    ++*(int *)context;
}

static void what_cannot_be_exported(void) {
    ferry_array array = array_of(FERRY_COMPLEX128, 1, (const int64_t[]){10}), odd = array, foreign;
    struct DLManagedTensorVersioned *tensor = NULL;
    const ferry_dlpack_options refused[] = {
        {.type = 3}, {.device = 1}, {.device = -1}, {.type = FERRY_DLPACK_CPU, .device = 1}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK_STATUS(ferry_dlpack_export(&array, &refused[i], &tensor), FERRY_INVALID_ARGUMENT);
    }
    CHECK_STATUS(ferry_dlpack_export(&array, &(ferry_dlpack_options){.type = FERRY_DLPACK_CUDA}, &tensor),
                 FERRY_UNSUPPORTED);
    odd.view.dtype = FERRY_FLOAT64;
    odd.view.shape[0] = 9;
    odd.view.strides[0] = 12;
    CHECK_STATUS(ferry_dlpack_export(&odd, NULL, &tensor), FERRY_UNSUPPORTED);
    double numbers[3] = {1, 2, 3};
    ferry_view view;
    int releases = 0;
    REQUIRE_OK(ferry_view_make(numbers, FERRY_FLOAT64, 1, (const int64_t[]){3}, &view));
    REQUIRE_OK(ferry_array_wrap(&view, count_release, &releases, &foreign));
    CHECK_STATUS(ferry_dlpack_export(&foreign, NULL, &tensor), FERRY_UNSUPPORTED);
    CHECK(tensor == NULL);
    REQUIRE_OK(ferry_dlpack_export(&foreign, &(ferry_dlpack_options){.type = FERRY_DLPACK_CPU}, &tensor));
    ferry_array_release(&foreign);
    CHECK_INT(releases, 0);
    tensor->deleter(tensor);
    CHECK_INT(releases, 1);
    ferry_array_release(&array);
}

static int deleted;

static void delete (struct DLManagedTensorVersioned *self) {
    (void)self;
    deleted++;
}

/* Somebody else's tensor of 2 times 3 float64. */
static struct DLManagedTensorVersioned foreign(double *data, int64_t *shape) {
    shape[0] = 2;
    shape[1] = 3;
    return (struct DLManagedTensorVersioned){
        .version = {1, 9},
        .deleter = delete,
        .tensor = {.data = data, .device = {FERRY_DLPACK_CPU, 0}, .ndim = 2, .dtype = {2, 64, 1}, .shape = shape}};
}

static void tensors_of_others_are_taken(void) {
    double data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t shape[2], strides[2] = {-3, 1};
    const int hosts[] = {FERRY_DLPACK_CPU, DLPACK_CUDA_HOST, FERRY_DLPACK_MANAGED};
    for (int i = 0; i < 3; i++) {
        struct DLManagedTensorVersioned tensor = foreign(data, shape);
        ferry_array array;
        tensor.tensor.device.type = hosts[i];
        tensor.tensor.byte_offset = 8;
        deleted = 0;
        REQUIRE_OK(ferry_dlpack_import(&tensor, &array));
        CHECK(array.view.data == &data[1] && ferry_view_is_c_contiguous(&array.view));
        ferry_array_release(&array);
        CHECK_INT(deleted, 1);
        tensor.tensor.byte_offset = 32;
        tensor.tensor.strides = strides;
        tensor.flags = DLPACK_READ_ONLY;
        REQUIRE_OK(ferry_dlpack_import(&tensor, &array));
        CHECK_INT(array.view.strides[0], -24);
        CHECK(array.view.readonly);
        ferry_array_release(&array);
    }
}

static void what_cannot_be_imported(void) {
    double data[8] = {0};
    int64_t shape[2], strides[2] = {INT64_MAX / 2, 1};
    const struct DLManagedTensorVersioned good = foreign(data, shape);
    ferry_array array, kept;
    memset(&array, 0x55, sizeof array);
    kept = array;
    deleted = 0;
    struct DLManagedTensorVersioned bad[] = {good, good, good, good, good, good, good};
    bad[0].version.major = 2;
    bad[1].tensor.device.type = FERRY_DLPACK_CUDA;
    bad[2].tensor.device.type = 10;
    bad[3].tensor.dtype.bits = 4;
    bad[4].tensor.dtype.lanes = 4;
    bad[5].tensor.ndim = FERRY_MAX_DIMS + 1;
    bad[6].tensor.strides = strides;
    const ferry_status why[] = {FERRY_UNSUPPORTED, FERRY_UNSUPPORTED,      FERRY_UNSUPPORTED, FERRY_DTYPE,
                                FERRY_DTYPE,       FERRY_INVALID_ARGUMENT, FERRY_SHAPE};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(ferry_dlpack_import(&bad[i], &array), why[i]);
    }
    struct DLManagedTensorVersioned negative = good;
    shape[0] = -2;
    CHECK_STATUS(ferry_dlpack_import(&negative, &array), FERRY_SHAPE);
    CHECK_INT(deleted, 0);
    CHECK_MEMORY(&array, &kept, sizeof array);
}

/* CUDA memory that is ferry's can be read by the host; a tensor beyond its block is nobody's. */
static void memory_of_ours_comes_back(void) {
    ferry_array block = array_of(FERRY_FLOAT64, 1, (const int64_t[]){6000}), array;
    int64_t shape[2];
    struct DLManagedTensorVersioned tensor = foreign(block.view.data, shape);
    tensor.tensor.device.type = FERRY_DLPACK_CUDA;
    REQUIRE_OK(ferry_dlpack_import(&tensor, &array));
    CHECK_OK(ferry_host_acquire(&array.view, FERRY_READ));
    ferry_array_release(&array);
    shape[0] = 60000;
    CHECK_STATUS(ferry_dlpack_import(&tensor, &array), FERRY_INVALID_ARGUMENT);
    ferry_array_release(&block);
}

/* Redundant bytes when it goes to the device, comes home and goes again. */
static uint64_t redundant_bytes(const ferry_view *view) {
    ferry_stats before, after;
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(ferry_host_acquire(view, FERRY_READ));
        REQUIRE_OK(ferry_stats_get(&before));
        REQUIRE_OK(ferry_prefetch(view, 0, NULL));
    }
    REQUIRE_OK(ferry_stats_get(&after));
    return after.redundant_bytes - before.redundant_bytes;
}

static void memory_counts_as_written_until_it_is_released(void) {
    ferry_array array = array_of(FERRY_UINT8, 1, (const int64_t[]){4 << 20}), fixed = array, back;
    struct DLManagedTensorVersioned *tensor;
    memset(array.view.data, 1, 4 << 20);
    REQUIRE_OK(ferry_dlpack_export(&array, NULL, &tensor));
    CHECK_UINT(redundant_bytes(&array.view), 0);
    REQUIRE_OK(ferry_dlpack_import(tensor, &back));
    ferry_array_release(&back);
    CHECK_UINT(redundant_bytes(&array.view), 4 << 20);
    fixed.view.readonly = true;
    REQUIRE_OK(ferry_dlpack_export(&fixed, NULL, &tensor));
    CHECK_UINT(redundant_bytes(&array.view), 4 << 20);
    tensor->deleter(tensor);
    const ferry_array released = {.view = array.view};
    CHECK_STATUS(ferry_dlpack_export(&released, NULL, &tensor), FERRY_INVALID_ARGUMENT);
    CHECK_UINT(redundant_bytes(&array.view), 4 << 20);
    ferry_array_release(&array);
}

int main(void) {
    RUN(structures_lie_as_specified);
    RUN(a_tensor_describes_the_array);
    RUN(a_tensor_keeps_the_memory);
    RUN(what_is_exported_can_be_imported);
    RUN(scalars_and_empty_arrays);
    RUN(read_only_arrays_say_so);
    RUN(each_device_finds_the_array_where_it_looks);
    RUN(what_cannot_be_exported);
    RUN(tensors_of_others_are_taken);
    RUN(what_cannot_be_imported);
    RUN(memory_of_ours_comes_back);
    RUN(memory_counts_as_written_until_it_is_released);
    return test_finish();
}
