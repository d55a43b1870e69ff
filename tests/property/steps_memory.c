/* Steps that allocate and free. */
#include <stdlib.h>

#include "policies.h"
#include "tests/test.h"

static const char *const allocation_names[] = {"malloc", "calloc", "aligned_alloc", "array_create", "array_zeros"};

static ferry_heap *heap_of(const struct world *world, int heap) {
    return world->heaps[heap];
}

static bool make_array(struct world *world, const struct step *step, struct ferry_array *out) {
    const int64_t shape[] = {(int64_t)(step->bytes / 24), 3};
    ferry_heap *heap = heap_of(world, step->heap);
    const ferry_status status = step->allocation == ALLOCATION_ZEROS
                                    ? ferry_array_zeros(heap, FERRY_UINT64, 2, shape, out)
                                    : ferry_array_create(heap, FERRY_UINT64, 2, shape, out);
    if (status == FERRY_LIMIT && world->program->rules.limited) {
        return false;
    }
    return went_well(world, status, "ferry_array_create");
}

static void no_room(const struct world *world, const char *what) {
    if (!world->program->rules.limited) {
        (void)went_well(world, FERRY_LIMIT, what);
    }
}

static void *allocate(struct world *world, const struct step *step, size_t *bytes, ferry_array *array) {
    ferry_heap *heap = heap_of(world, step->heap);
    const size_t alignment = (size_t)8 << step->random % 19;
    switch (step->allocation) {
    case ALLOCATION_ARRAY:
    case ALLOCATION_ZEROS:
        *bytes = step->bytes / 24 * 24;
        return make_array(world, step, array) ? array->view.data : NULL;
    case ALLOCATION_CALLOC:
        return ferry_heap_calloc(heap, *bytes, 1);
    case ALLOCATION_ALIGNED:
        return ferry_heap_aligned_alloc(heap, alignment, *bytes);
    default:
        return heap == NULL ? ferry_malloc(*bytes) : ferry_heap_malloc(heap, *bytes);
    }
}

static void check_apart(const struct world *world, const struct slot *slot) {
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *other = &world->slots[i];
        if (other == slot || !other->live) {
            continue;
        }
        const size_t page = slot->tiny || other->tiny ? 1 : FERRY_PAGE_BYTES;
        const uintptr_t low = (uintptr_t)slot->block / page,
                        high = ((uintptr_t)slot->block + slot->bytes + page - 1) / page;
        const uintptr_t other_low = (uintptr_t)other->block / page,
                        other_high = ((uintptr_t)other->block + other->bytes + page - 1) / page;
        if (low < other_high && other_low < high) {
            fail(world, "a%d and a%d share memory", (int)(slot - world->slots), i);
        }
    }
}

static void check_block(const struct world *world, const struct step *step, const struct slot *slot) {
    void *base;
    size_t bytes;
    if (step->allocation == ALLOCATION_ALIGNED && (uintptr_t)slot->block % ((size_t)8 << step->random % 19) != 0) {
        fail(world, "%p is not aligned", (void *)slot->block);
    }
    if (ferry_usable_size(slot->block) < slot->bytes) {
        fail(world, "%zu of %zu bytes are usable", ferry_usable_size(slot->block), slot->bytes);
    }
    expect_ok(world, ferry_storage_find(slot->block + slot->bytes / 2, &base, &bytes), "ferry_storage_find");
    check_apart(world, slot);
}

static ferry_view bytes_view(const struct world *world, void *block, size_t bytes) {
    const int64_t count = (int64_t)bytes;
    ferry_view view;
    expect_ok(world, ferry_view_make(block, FERRY_UINT8, 1, &count, &view), "ferry_view_make");
    return view;
}

void step_allocate(struct world *world, const struct step *step) {
    struct slot *slot = &world->slots[step->slot];
    size_t bytes = step->bytes;
    ferry_array array = {0};
    if (slot->live) {
        return;
    }
    const bool zeroed = step->allocation == ALLOCATION_CALLOC || step->allocation == ALLOCATION_ZEROS;
    say(world, "a%d = %s(%zu) in heap %d", step->slot, allocation_names[step->allocation], bytes, step->heap);
    void *block = allocate(world, step, &bytes, &array);
    if (block == NULL) {
        no_room(world, "an allocation");
        return;
    }
    slot_open(world, slot, block, bytes, zeroed);
    slot->heap = step->heap;
    slot->array = array;
    slot->is_array = array.owner != NULL;
    say(world, "    at %p", block);
    check_block(world, step, slot);
    if (zeroed) {
        /* Pages that are known to read as zero stay where they are. */
        const ferry_view view = bytes_view(world, block, bytes);
        slot_use(slot, &view, FERRY_WRITE);
        account_step(world, HOST_SIDE, FERRY_PLACE_MIXED);
    }
}

void free_slot(struct slot *slot) {
    if (slot->is_array) {
        ferry_array_release(&slot->array);
    } else {
        ferry_free(slot->block);
    }
    slot_close(slot);
}

void step_free(struct world *world, const struct step *step) {
    struct slot *slot = &world->slots[step->slot];
    if (slot->live) {
        say(world, "free(a%d)", step->slot);
        free_slot(slot);
    }
}

/* A kernel that reads part of the slot and is not waited for. */
static void use_once_more(struct world *world, const struct step *step) {
    struct step last = *step;
    last.noperands = 2;
    last.operands[0].slot = step->slot;
    last.operands[0].access = FERRY_READ;
    last.operands[1].access = FERRY_WRITE;
    if (last.operands[1].slot != step->slot) {
        step_launch(world, &last);
        slot_forget_use(&world->slots[step->slot]);
        slot_forget_use(&world->slots[last.operands[1].slot]);
    }
}

/* A temporary that makes way for the next one of its size, while kernels may still use it; the host fills the new one.
 */
void step_replace(struct world *world, const struct step *step) {
    struct slot *slot = &world->slots[step->slot];
    struct step next = *step;
    if (!slot->live) {
        return;
    }
    use_once_more(world, step);
    next.bytes = slot->bytes;
    next.heap = slot->heap;
    next.allocation = step->random % 3 == 0 ? ALLOCATION_CALLOC : ALLOCATION_MALLOC;
    next.kind = STEP_RAW_WRITE;
    step_free(world, &next);
    step_allocate(world, &next);
    slot_forget_use(slot);
    step_raw(world, &next);
}

/* Whether the block moved or not. */
static void forget_advice(const struct world *world, const struct slot *slot) {
    if (slot->pages > 0) {
        const ferry_view view = bytes_view(world, slot->block, slot->bytes);
        expect_ok(world, ferry_advise(&view, &(ferry_advice){0}), "ferry_advise");
    }
}

/* The old slot is kept aside until the moves, which name pages of both, are accounted for. */
static void account_realloc(struct world *world, struct slot *old, struct slot *moved, size_t kept) {
    const ferry_view from = bytes_view(world, old->block, kept), to = bytes_view(world, moved->block, kept);
    slot_use(old, &from, FERRY_READ);
    slot_use(moved, &to, FERRY_WRITE);
    account_step(world, HOST_SIDE, FERRY_PLACE_HOST);
}

void step_reallocate(struct world *world, const struct step *step) {
    struct slot *slot = &world->slots[step->slot], *spare = &world->slots[SLOTS];
    if (!slot->live || slot->is_array) {
        return;
    }
    const size_t kept = slot->bytes < step->bytes ? slot->bytes : step->bytes;
    const ferry_view from = bytes_view(world, slot->block, kept);
    slot_use(slot, &from, FERRY_READ);
    if (!slot_allows(world, slot, HOST_SIDE)) {
        return;
    }
    slot_forget_use(slot);
    say(world, "a%d = realloc(a%d, %zu), which was %zu", step->slot, step->slot, step->bytes, slot->bytes);
    void *block = ferry_realloc(slot->block, step->bytes);
    if (block == NULL) {
        no_room(world, "ferry_realloc");
        return;
    }
    *spare = *slot;
    *slot = (struct slot){0};
    slot_open(world, slot, block, step->bytes, false);
    slot->heap = spare->heap;
    forget_advice(world, slot);
    memcpy(slot->shadow, spare->shadow, kept);
    memcpy(slot->mask, spare->mask, kept);
    account_realloc(world, spare, slot, kept);
    slot_close(spare);
    const ferry_view view = bytes_view(world, block, kept);
    slot_verify(world, slot, &view);
}

void step_heap(struct world *world, const struct step *step) {
    if (step->heap == 0) {
        return;
    }
    const ferry_heap_options options = policy_heap_options(world, step->heap, step->random);
    if (world->heaps[step->heap] == NULL) {
        (void)went_well(world, ferry_heap_create(&options, &world->heaps[step->heap]), "ferry_heap_create");
        return;
    }
    say(world, "heap %d is destroyed and made anew", step->heap);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &world->slots[i];
        if (slot->live && slot->heap == step->heap && (slot->is_array || step->random % 3 == 0)) {
            free_slot(slot);
        } else if (slot->live && slot->heap == step->heap) {
            slot_close(slot);
        }
    }
    ferry_heap_destroy(world->heaps[step->heap]);
    world->heaps[step->heap] = NULL;
    (void)went_well(world, ferry_heap_create(&options, &world->heaps[step->heap]), "ferry_heap_create");
}
