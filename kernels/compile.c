#include "compile.h"

#include "code_cache.h"

ferry_status compile_source(const nvrtc_request *request, code_image *out, bool *compiled) {
    char description[256];
    ferry_status status = nvrtc_describe(request, description, sizeof description);
    if (status != FERRY_OK)
        return status;
    code_key key = code_key_make(description, request->source);
    bool found = code_cache_load(key, out);
    if (!found) {
        status = nvrtc_compile(request, out);
        if (status == FERRY_OK)
            code_cache_store(key, out);
    }
    if (compiled != NULL)
        *compiled = !found;
    return status;
}
