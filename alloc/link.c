#include "link.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "link_file.h"
#include "residency.h"

/* ns per byte. */
#define MS_PER_GIB(ms) ((ms)*1e6 / (double)((size_t)1 << 30))
#define GB_PER_S(rate) (1 / (double)(rate))

/*
 * An H200 over PCIe 5 x16, driver 580, CUDA 13.0. The fixed costs are what is left of small prefetches (64 KiB to the
 * device at 1.8 GB/s; 4 KiB there and back in 118 µs, a launch and a wait of 9 µs included) and of a launch that uses 4
 * KiB across the bus (12.0 µs, 9.0 without). Placing pages on the host, with their contents or without, is dearest for
 * their 4 KiB mappings.
 */
static const ferry_link_costs built_in = {
    .to_device_ns = 35e3,
    .to_device_ns_per_byte = MS_PER_GIB(21.6),
    .to_host_ns = 70e3,
    .to_host_ns_per_byte = MS_PER_GIB(90),
    .discard_to_device_ns_per_byte = MS_PER_GIB(7.0),
    .discard_to_host_ns_per_byte = MS_PER_GIB(60),
    .fill_device_ns_per_byte = MS_PER_GIB(5.1),
    .fill_host_ns_per_byte = MS_PER_GIB(180),
    .remote_ns = 1.4e3,
    .hidden_ns = 1.0e3,
    .remote_read_ns_per_byte = MS_PER_GIB(20.9),
    .remote_write_ns_per_byte = MS_PER_GIB(20.4),
    .remote_both_ns_per_byte = MS_PER_GIB(25.5),
    .device_ns_per_byte = GB_PER_S(3400),
};

/* Moves that are smaller say more about the call than about the bytes. */
#define OBSERVED_BYTES ((size_t)1 << 20)

/* Costs that are, or were, in use: readers may hold them still, so none is freed. */
struct kept {
    ferry_link_costs costs;
    struct kept *earlier;
};

/* Guards what follows, is taken under the movement lock or without it, and is held while a link is measured. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *all_kept;
static struct link {
    _Atomic(const ferry_link_costs *) in_use; /* NULL: not known yet. Read without the lock */
    bool looked;                              /* for a file */
} links[RESIDENCY_MAX_DEVICES];

bool link_plausible(const ferry_link_costs *costs) {
#define CHECK(name, text)                                                                                              \
    if (!(costs->name >= 0 && costs->name < 1e12)) {                                                                   \
        return false;                                                                                                  \
    }
    FERRY_LINK_LIST(CHECK)
#undef CHECK
    return costs->to_device_ns_per_byte > 0 && costs->to_host_ns_per_byte > 0 && costs->remote_read_ns_per_byte > 0 &&
           costs->remote_write_ns_per_byte > 0 && costs->remote_both_ns_per_byte > 0 && costs->device_ns_per_byte > 0;
}

/* Lock held from here on. */
static ferry_status use_costs(int device, const ferry_link_costs *costs) {
    struct kept *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for the costs of device %d's link", device);
    }
    *kept = (struct kept){*costs, all_kept};
    all_kept = kept;
    atomic_store_explicit(&links[device].in_use, &kept->costs, memory_order_release);
    return FERRY_OK;
}

static bool is_kept_on_disk(void) {
    return core.backend->link_identity != NULL;
}

static ferry_status measure(int device, ferry_link_costs *out) {
    if (!core.hints || core.backend->link_measure == NULL) {
        return ferry_error(FERRY_UNSUPPORTED, "device %d's link cannot be measured: %s", device,
                           core.hints ? "the backend does not measure" : "no hints can be given");
    }
    ferry_link_costs costs;
    const ferry_status status = core.backend->link_measure(device, &costs);
    if (status != FERRY_OK) {
        return status;
    }
    if (!link_plausible(&costs)) {
        return ferry_error(FERRY_BACKEND, "what was measured of device %d's link cannot be", device);
    }
    *out = costs;
    return FERRY_OK;
}

static ferry_status store(int device, const ferry_link_costs *costs) {
    char identity[LINK_IDENTITY_BYTES];
    if (!is_kept_on_disk() || (core.backend->link_identity(device, identity, sizeof identity) == FERRY_OK &&
                               link_file_store(identity, costs) == FERRY_OK)) {
        return FERRY_OK;
    }
    return ferry_error(FERRY_IO, "the costs of device %d's link are in use, but not cached: %s", device,
                       ferry_error_detail());
}

/* Once in a process. */
static bool look_for_file(int device, ferry_link_costs *out) {
    char identity[LINK_IDENTITY_BYTES];
    if (links[device].looked) {
        return false;
    }
    links[device].looked = true;
    return is_kept_on_disk() && core.backend->link_identity(device, identity, sizeof identity) == FERRY_OK &&
           link_file_load(identity, out);
}

static void find(int device, bool may_measure) {
    ferry_link_costs costs;
    if (look_for_file(device, &costs)) {
        (void)use_costs(device, &costs);
    } else if (may_measure && measure(device, &costs) == FERRY_OK) {
        (void)use_costs(device, &costs);
        (void)store(device, &costs);
    } else if (may_measure) {
        atomic_store_explicit(&links[device].in_use, &built_in, memory_order_release);
    }
}

/* Observed costs of coming home, per device; movement lock. */
static struct observed {
    const ferry_link_costs *based_on; /* what was in use when the observing began */
    ferry_link_costs costs;
} observed[RESIDENCY_MAX_DEVICES];

const ferry_link_costs *link_expected(int device, const ferry_link_costs *costs) {
    struct observed *link = &observed[device];
    if (link->based_on != costs) {
        *link = (struct observed){costs, *costs};
    }
    return &link->costs;
}

/* A quarter of the way to what was seen: one slow moment does not turn every decision. */
static void approach(double *known, double seen) {
    *known += (seen - *known) / 4;
}

void link_note_home(int device, size_t bytes, bool discarded, uint64_t ns) {
    struct observed *link = &observed[device];
    if (link->based_on == NULL || bytes < OBSERVED_BYTES || (double)ns <= link->costs.to_host_ns) {
        return;
    }
    approach(discarded ? &link->costs.discard_to_host_ns_per_byte : &link->costs.to_host_ns_per_byte,
             ((double)ns - link->costs.to_host_ns) / (double)bytes);
}

static const ferry_link_costs *in_use(int device) {
    return atomic_load_explicit(&links[device].in_use, memory_order_acquire);
}

/* In a forked child the lock may be held by a thread that is not there. */
static const ferry_link_costs *costs_of(int device, bool may_measure) {
    const ferry_link_costs *costs = in_use(device);
    if (costs != NULL || core_forked()) {
        return costs != NULL ? costs : &built_in;
    }
    pthread_mutex_lock(&lock);
    if (in_use(device) == NULL) {
        find(device, may_measure);
    }
    costs = in_use(device);
    pthread_mutex_unlock(&lock);
    return costs != NULL ? costs : &built_in;
}

bool link_is_known(int device) {
    return in_use(device) != NULL || core_forked();
}

const ferry_link_costs *link_costs(int device) {
    return costs_of(device, true);
}

const ferry_link_costs *link_costs_known(int device) {
    return costs_of(device, false);
}

static ferry_status check_device(int device) {
    return device >= 0 && device < core.devices
               ? FERRY_OK
               : ferry_error(FERRY_INVALID_ARGUMENT, "there is no device %d; devices are 0 to %d", device,
                             core.devices - 1);
}

ferry_status ferry_link_get(int device, ferry_link_costs *out) {
    ferry_status status = core_start();
    status = status == FERRY_OK ? check_device(device) : status;
    if (status == FERRY_OK) {
        *out = *link_costs(device);
    }
    return status;
}

ferry_status ferry_link_identity(int device, char *text, size_t bytes) {
    ferry_status status = core_start();
    status = status == FERRY_OK ? check_device(device) : status;
    if (status != FERRY_OK) {
        return status;
    }
    return is_kept_on_disk() ? core.backend->link_identity(device, text, bytes)
                             : ferry_error(FERRY_UNSUPPORTED, "times of this backend are not measured");
}

ferry_status ferry_calibrate(int device, ferry_link_costs *out) {
    ferry_status status = core_start_device();
    status = status == FERRY_OK ? check_device(device) : status;
    if (status != FERRY_OK) {
        return status;
    }
    ferry_link_costs costs;
    pthread_mutex_lock(&lock);
    status = measure(device, &costs);
    status = status == FERRY_OK ? use_costs(device, &costs) : status;
    status = status == FERRY_OK ? store(device, &costs) : status;
    pthread_mutex_unlock(&lock);
    if (status == FERRY_OK && out != NULL) {
        *out = costs;
    }
    return status;
}
