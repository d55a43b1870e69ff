/* The version: semantic versioning, read by the build. */
#ifndef FERRY_VERSION_H
#define FERRY_VERSION_H

#include "ferry/status.h"

#define FERRY_VERSION_MAJOR 0
#define FERRY_VERSION_MINOR 1
#define FERRY_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" of the library that is loaded. */
FERRY_API const char *ferry_version(void);

#ifdef __cplusplus
}
#endif
#endif
