#include "nvrtc_program.h"

#ifdef FERRY_WITH_CUDA

#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ARCHITECTURES_MAX 64
#define OPTIONS_MAX 4
#define LOG_SHOWN_BYTES 3500 /* of the compiler's log, in the error's detail */

#define FUNCTIONS(X)                                                                                                   \
    X(nvrtcVersion)                                                                                                    \
    X(nvrtcGetErrorString)                                                                                             \
    X(nvrtcGetNumSupportedArchs)                                                                                       \
    X(nvrtcGetSupportedArchs)                                                                                          \
    X(nvrtcCreateProgram)                                                                                              \
    X(nvrtcCompileProgram)                                                                                             \
    X(nvrtcDestroyProgram)                                                                                             \
    X(nvrtcGetCUBINSize)                                                                                               \
    X(nvrtcGetCUBIN)                                                                                                   \
    X(nvrtcGetPTXSize)                                                                                                 \
    X(nvrtcGetPTX)                                                                                                     \
    X(nvrtcGetProgramLogSize)                                                                                          \
    X(nvrtcGetProgramLog)

/* Written once, by open_library. */
static struct {
    bool found;
    char reason[512];
    int major, minor;
    int architectures[ARCHITECTURES_MAX], narchitectures;
#define FIELD(function) __typeof__(&function) function;
    FUNCTIONS(FIELD)
#undef FIELD
} lib;
static pthread_once_t lib_once = PTHREAD_ONCE_INIT;

static void *open_first(void) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    const char *path = getenv("FERRY_NVRTC");
    if (path != NULL && *path != '\0')
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && handle == NULL; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static bool load_functions(void *handle) {
#define LOAD(function)                                                                                                 \
    *(void **)&lib.function = dlsym(handle, #function);                                                                \
    if (lib.function == NULL) {                                                                                        \
        snprintf(lib.reason, sizeof lib.reason, "this NVRTC has no " #function);                                       \
        return false;                                                                                                  \
    }
    FUNCTIONS(LOAD)
#undef LOAD
    return true;
}

static bool load_architectures(void) {
    int n = 0;
    if (lib.nvrtcVersion(&lib.major, &lib.minor) != NVRTC_SUCCESS ||
        lib.nvrtcGetNumSupportedArchs(&n) != NVRTC_SUCCESS || n < 1 || n > ARCHITECTURES_MAX ||
        lib.nvrtcGetSupportedArchs(lib.architectures) != NVRTC_SUCCESS) {
        snprintf(lib.reason, sizeof lib.reason, "this NVRTC does not tell its version and architectures");
        return false;
    }
    lib.narchitectures = n;
    return true;
}

static void open_library(void) {
    void *handle = open_first();
    if (handle == NULL) {
        const char *reason = dlerror();
        snprintf(lib.reason, sizeof lib.reason, "NVRTC cannot be opened: %s", reason ? reason : "no reason given");
        return;
    }
    lib.found = load_functions(handle) && load_architectures();
}

static ferry_status need_library(void) {
    pthread_once(&lib_once, open_library);
    if (lib.found)
        return FERRY_OK;
    return ferry_error(FERRY_UNSUPPORTED, "%s; FERRY_NVRTC may name the library", lib.reason);
}

/* The request's architecture, or the newest before it. */
static int known_architecture(int wanted) {
    int best = 0;
    for (int i = 0; i < lib.narchitectures; i++) {
        if (lib.architectures[i] <= wanted && lib.architectures[i] > best)
            best = lib.architectures[i];
    }
    return best;
}

typedef struct options {
    char architecture[48];
    const char *list[OPTIONS_MAX];
    int n;
    bool machine_code; /* else PTX */
} options;

static ferry_status options_make(const nvrtc_request *request, options *o) {
    int known = known_architecture(request->architecture);
    if (known == 0)
        return ferry_error(FERRY_UNSUPPORTED, "NVRTC %d.%d does not compile for compute capability %d.%d", lib.major,
                           lib.minor, request->architecture / 10, request->architecture % 10);
    o->machine_code = known == request->architecture && !request->portable;
    snprintf(o->architecture, sizeof o->architecture, "--gpu-architecture=%s_%d", o->machine_code ? "sm" : "compute",
             known);
    o->list[0] = o->architecture;
    o->list[1] = "--std=c++17";
    o->list[2] = request->contract ? "--fmad=true" : "--fmad=false";
    o->n = 3;
    return FERRY_OK;
}

ferry_status nvrtc_describe(const nvrtc_request *request, char *line, size_t bytes) {
    options o;
    ferry_status status = need_library();
    if (status == FERRY_OK)
        status = options_make(request, &o);
    if (status == FERRY_OK)
        snprintf(line, bytes, "nvrtc %d.%d %s %s %s", lib.major, lib.minor, o.list[0], o.list[1], o.list[2]);
    return status;
}

static ferry_status check(nvrtcResult result, const char *what) {
    return result == NVRTC_SUCCESS ? FERRY_OK
                                   : ferry_error(FERRY_COMPILE, "%s: %s", what, lib.nvrtcGetErrorString(result));
}

static ferry_status report_log(nvrtcProgram program, const nvrtc_request *request, nvrtcResult result) {
    size_t bytes = 0;
    char *log = NULL;
    if (lib.nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS)
        log = malloc(bytes + 1);
    if (log == NULL || lib.nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS) {
        free(log);
        return check(result, "nvrtcCompileProgram");
    }
    ferry_error(FERRY_COMPILE, "kernel %s does not compile:\n%.*s", request->name, LOG_SHOWN_BYTES, log);
    free(log);
    return FERRY_COMPILE;
}

static ferry_status take_code(nvrtcProgram program, bool machine_code, code_image *out) {
    size_t bytes = 0;
    ferry_status status =
        check(machine_code ? lib.nvrtcGetCUBINSize(program, &bytes) : lib.nvrtcGetPTXSize(program, &bytes),
              "the size of NVRTC's code");
    if (status != FERRY_OK)
        return status;
    char *data = malloc(bytes);
    if (data == NULL)
        return ferry_error(FERRY_OUT_OF_MEMORY, "no memory for %zu bytes of code", bytes);
    status = check(machine_code ? lib.nvrtcGetCUBIN(program, data) : lib.nvrtcGetPTX(program, data), "NVRTC's code");
    if (status != FERRY_OK)
        free(data);
    else
        *out = (code_image){data, bytes};
    return status;
}

ferry_status nvrtc_compile(const nvrtc_request *request, code_image *out) {
    options o;
    nvrtcProgram program;
    ferry_status status = need_library();
    if (status == FERRY_OK)
        status = options_make(request, &o);
    if (status == FERRY_OK)
        status = check(lib.nvrtcCreateProgram(&program, request->source, request->name, 0, NULL, NULL),
                       "nvrtcCreateProgram");
    if (status != FERRY_OK)
        return status;
    nvrtcResult result = lib.nvrtcCompileProgram(program, o.n, o.list);
    status = result == NVRTC_SUCCESS ? take_code(program, o.machine_code, out) : report_log(program, request, result);
    lib.nvrtcDestroyProgram(&program);
    return status;
}

#else

static ferry_status refuse(void) {
    return ferry_error(FERRY_UNSUPPORTED, "this build has no CUDA: kernels cannot be compiled");
}

ferry_status nvrtc_describe(const nvrtc_request *request, char *line, size_t bytes) {
    (void)request, (void)line, (void)bytes;
    return refuse();
}

ferry_status nvrtc_compile(const nvrtc_request *request, code_image *out) {
    (void)request, (void)out;
    return refuse();
}

#endif
