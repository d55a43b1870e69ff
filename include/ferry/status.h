/* Statuses and error texts. */
#ifndef FERRY_STATUS_H
#define FERRY_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FERRY_API __attribute__((visibility("default")))
#define FERRY_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define FERRY_COLD __attribute__((cold)) /* what leads to a call of it is laid out away from what mostly runs */
#else
#define FERRY_API
#define FERRY_PRINTF(format_index, first)
#define FERRY_COLD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(CONSTANT, "what it means"); the order is the numbering, success is 0. */
#define FERRY_STATUS_LIST(X)                                                                                           \
    X(OK, "success")                                                                                                   \
    X(INVALID_ARGUMENT, "an argument is not valid")                                                                    \
    X(OUT_OF_MEMORY, "ordinary memory is exhausted")                                                                   \
    X(LIMIT, "the managed-memory limit is reached")                                                                    \
    X(DTYPE, "the data type is not supported here")                                                                    \
    X(SHAPE, "shapes or strides do not fit")                                                                           \
    X(CAST, "the cast is not allowed")                                                                                 \
    X(NOT_FOUND, "no such thing")                                                                                      \
    X(FORMAT, "the file's format is not understood")                                                                   \
    X(IO, "reading or writing failed")                                                                                 \
    X(UNSUPPORTED, "not supported by this device or build")                                                            \
    X(COMPILE, "the kernel does not compile")                                                                          \
    X(BACKEND, "the device or its driver failed")                                                                      \
    X(REDUNDANT, "the same bytes crossed twice in one direction")                                                      \
    X(UNSYNCHRONISED, "the host touched what a kernel was using")

typedef enum ferry_status {
#define FERRY_STATUS_ENUM(name, text) FERRY_##name,
    FERRY_STATUS_LIST(FERRY_STATUS_ENUM)
#undef FERRY_STATUS_ENUM
} ferry_status;

/* The constant's name without its prefix ("LIMIT"), or "UNKNOWN". Never NULL; static storage. */
FERRY_API const char *ferry_status_name(ferry_status status);

/* One short sentence for the status. Never NULL; static storage. */
FERRY_API const char *ferry_status_text(ferry_status status);

/*
 * The sentence that describes the calling thread's latest failure. It stays until the next failure on the
 * same thread and is "" before the first. Owned by the library; copy it to keep it.
 */
FERRY_API const char *ferry_error_detail(void);

/*
 * Sets the calling thread's detail from a printf format and returns `status`, so that whoever detects an
 * error writes `return ferry_error(FERRY_SHAPE, "…", …);`. For code that extends ferry. Saves errno.
 */
FERRY_API ferry_status ferry_error(ferry_status status, const char *format, ...) FERRY_PRINTF(2, 3) FERRY_COLD;

#ifdef __cplusplus
}
#endif
#endif
