/* What crossing costs between the host and a device. */
#ifndef FERRY_LINK_H
#define FERRY_LINK_H

#include "ferry/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(name, "what it is"). Times in nanoseconds: *_ns for a call however small, *_ns_per_byte for every byte of the
 * range; a range of n bytes costs the sum. Remote rates are for each byte of the array that a kernel goes over; with
 * `both` it is loaded and stored.
 */
#define FERRY_LINK_LIST(X)                                                                                             \
    X(to_device_ns, "a prefetch of populated pages to the device, until they are there")                               \
    X(to_device_ns_per_byte, "each byte of it")                                                                        \
    X(to_host_ns, "a prefetch of populated pages to the host")                                                         \
    X(to_host_ns_per_byte, "each byte of it")                                                                          \
    X(discard_to_device_ns_per_byte, "each byte placed on the device without its contents")                            \
    X(discard_to_host_ns_per_byte, "each byte placed on the host without its contents")                                \
    X(fill_device_ns_per_byte, "each byte never touched before that appears on the device")                            \
    X(fill_host_ns_per_byte, "each byte never touched before that a prefetch makes on the host")                       \
    X(remote_ns, "what a kernel takes longer when its operands are on the host, however small they are")               \
    X(hidden_ns, "the part of a kernel's time across the bus that the launch of the next kernel hides")                \
    X(remote_read_ns_per_byte, "each byte that a kernel loads across the bus")                                         \
    X(remote_write_ns_per_byte, "each byte that a kernel stores across the bus")                                       \
    X(remote_both_ns_per_byte, "each byte that a kernel loads and stores across the bus")                              \
    X(device_ns_per_byte, "each byte that a kernel loads from the device's own memory")

typedef struct ferry_link_costs {
#define FERRY_LINK_FIELD(name, text) double name;
    FERRY_LINK_LIST(FERRY_LINK_FIELD)
#undef FERRY_LINK_FIELD
} ferry_link_costs;

/*
 * The costs in use for a device. The first call for a device reads them from the cache on disk (per device, driver and
 * machine; under $XDG_CACHE_HOME/ferry, ~/.cache/ferry, or FERRY_CACHE in place of both) or measures them, in well
 * under a second, and caches them. Where the device cannot be measured the figures of a PCIe 5 machine are used.
 * FERRY_INVALID_ARGUMENT for a device that does not exist.
 */
FERRY_API ferry_status ferry_link_get(int device, ferry_link_costs *out);

/*
 * Writes a line that names what such times depend on: device, driver and machine, at most `bytes` with the terminating
 * zero. FERRY_UNSUPPORTED where nothing is measured, as on the simulator; FERRY_INVALID_ARGUMENT for a device that does
 * not exist, or when the bytes are too few.
 */
FERRY_API ferry_status ferry_link_identity(int device, char *text, size_t bytes);

/* Measures them anew, uses and caches them. The device should be idle. `out` may be NULL. FERRY_UNSUPPORTED where hints
 * cannot be given; FERRY_IO when they could not be cached, which leaves them in use. */
FERRY_API ferry_status ferry_calibrate(int device, ferry_link_costs *out);

#ifdef __cplusplus
}
#endif
#endif
