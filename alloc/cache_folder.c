#include "ferry/cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

static ferry_status name_folder(char *path, size_t bytes) {
    const char *own = setting("FERRY_CACHE"), *cache = setting("XDG_CACHE_HOME"), *home = setting("HOME");
    if (own == NULL && cache == NULL && home == NULL) {
        return ferry_error(FERRY_NOT_FOUND, "no folder for cached files: HOME is not set, nor is FERRY_CACHE");
    }
    const int n = own     ? snprintf(path, bytes, "%s", own)
                  : cache ? snprintf(path, bytes, "%s/ferry", cache)
                          : snprintf(path, bytes, "%s/.cache/ferry", home);
    return n >= 0 && (size_t)n < bytes ? FERRY_OK
                                       : ferry_error(FERRY_INVALID_ARGUMENT, "the cache folder's name is too long");
}

static bool is_folder(const char *path) {
    struct stat state;
    return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
}

/* mkdir -p, readable by the owner alone: what lies there is run. */
static bool make_folder(char *path) {
    if (is_folder(path)) {
        return true;
    }
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    if (mkdir(path, 0700) == 0) {
        return true;
    }
    const int reason = errno;
    const bool made_by_another = is_folder(path);
    errno = reason;
    return made_by_another;
}

ferry_status ferry_cache_folder(char *path, size_t bytes) {
    char name[PATH_BYTES];
    const ferry_status status = name_folder(name, sizeof name);
    if (status != FERRY_OK) {
        return status;
    }
    if (strlen(name) >= bytes) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "the path %s does not fit into %zu bytes", name, bytes);
    }
    if (!make_folder(name)) {
        return ferry_error(FERRY_IO, "%s: the folder cannot be made: %s", name, strerror(errno));
    }
    strcpy(path, name);
    return FERRY_OK;
}
