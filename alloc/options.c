#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const policy_names[] = {"default",
#define NAME(constant, name) name,
                                           FERRY_POLICY_LIST(NAME)
#undef NAME
};
#define POLICIES (sizeof policy_names / sizeof *policy_names)

const char *ferry_policy_name(ferry_policy policy) {
    return (size_t)policy < POLICIES ? policy_names[policy] : "unknown";
}

ferry_status ferry_policy_find(const char *name, ferry_policy *out) {
    for (size_t i = 0; i < POLICIES; i++) {
        if (strcmp(name, policy_names[i]) == 0) {
            *out = (ferry_policy)i;
            return FERRY_OK;
        }
    }
#define KNOWN(constant, name) " " name
    return ferry_error(FERRY_NOT_FOUND, "there is no policy '%s'; known are:" FERRY_POLICY_LIST(KNOWN), name);
#undef KNOWN
}

/* The power of 1024 that a suffix stands for, -1 when it stands for none: "", K, KB, KiB, and so on, in any case. */
static int suffix_power(const char *suffix) {
    static const char letters[] = "KMGT";
    if (*suffix == '\0' || strcasecmp(suffix, "B") == 0) {
        return 0;
    }
    for (int i = 0; letters[i] != '\0'; i++) {
        if (strncasecmp(suffix, &letters[i], 1) == 0) {
            const char *rest = suffix + 1;
            return *rest == '\0' || strcasecmp(rest, "B") == 0 || strcasecmp(rest, "iB") == 0 ? i + 1 : -1;
        }
    }
    return -1;
}

ferry_status ferry_size_parse(const char *text, size_t *bytes) {
    char *end = NULL;
    errno = 0;
    const double number = strtod(text, &end);
    const bool numeric = end != text;
    end += strspn(end, " ");
    const int power = numeric ? suffix_power(end) : -1;
    const double value = power < 0 ? -1 : number * (double)((size_t)1 << (10 * power));
    if (!(value >= 0) || value >= 9.2e18) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "'%s' is not a size in bytes such as 500000, 64M or 1.5G", text);
    }
    *bytes = (size_t)value;
    return FERRY_OK;
}

static ferry_status limit_from_environment(size_t *limit_bytes) {
    const char *text = getenv("FERRY_LIMIT");
    if (text == NULL || *text == '\0') {
        return FERRY_OK;
    }
    const ferry_status status = ferry_size_parse(text, limit_bytes);
    return status == FERRY_OK ? status : ferry_error(status, "FERRY_LIMIT: %s", ferry_error_detail());
}

static ferry_status policy_from_environment(ferry_policy *policy) {
    const char *name = getenv("FERRY_POLICY");
    if (name == NULL || *name == '\0') {
        return FERRY_OK;
    }
    const ferry_status status = ferry_policy_find(name, policy);
    return status == FERRY_OK ? status : ferry_error(status, "FERRY_POLICY: %s", ferry_error_detail());
}

static bool flag_from_environment(const char *name) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' && strcmp(text, "0") != 0;
}

ferry_status options_resolve(const ferry_options *in, ferry_options *out) {
    ferry_options options = in == NULL ? (ferry_options){0} : *in;
    if (options.backend == NULL || *options.backend == '\0') {
        const char *name = getenv("FERRY_BACKEND");
        options.backend = name == NULL || *name == '\0' ? "auto" : name;
    }
    ferry_status status = FERRY_OK;
    if (options.limit_bytes == 0) {
        status = limit_from_environment(&options.limit_bytes);
    }
    if (status == FERRY_OK && options.policy == FERRY_POLICY_DEFAULT) {
        status = policy_from_environment(&options.policy);
    }
    if (status != FERRY_OK) {
        return status;
    }
    if (!options_is_policy(options.policy)) {
        return ferry_error(FERRY_INVALID_ARGUMENT, "%d is no policy", (int)options.policy);
    }
    if (options.policy == FERRY_POLICY_DEFAULT) {
        options.policy = FERRY_POLICY_AUTO;
    }
    options.strict = options.strict || flag_from_environment("FERRY_STRICT");
    options.oversubscribe = options.oversubscribe || flag_from_environment("FERRY_OVERSUBSCRIBE");
    *out = options;
    return FERRY_OK;
}

static size_t cgroup_bytes(const char *path) {
    unsigned long long bytes = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return SIZE_MAX;
    }
    const int found = fscanf(file, "%llu", &bytes); /* "max" leaves found at 0 */
    fclose(file);
    return found == 1 && bytes > 0 ? (size_t)bytes : SIZE_MAX;
}

size_t options_ram_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    size_t bytes = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    const size_t v2 = cgroup_bytes("/sys/fs/cgroup/memory.max");
    const size_t v1 = cgroup_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    bytes = v2 < bytes ? v2 : bytes;
    return v1 < bytes ? v1 : bytes;
}
