/* The recorded traces, as the assembler includes them: TRACE_FOLDER is the folder with the files. */
#include "trace.h"

#define TRACE(name)                                                                                                    \
    __asm__(".pushsection .rodata\n"                                                                                   \
            "bench_trace_" #name ":\n"                                                                                 \
            ".incbin \"" TRACE_FOLDER "/" #name ".trace\"\n"                                                           \
            "bench_trace_" #name "_end:\n"                                                                             \
            ".popsection\n");                                                                                          \
    extern const char bench_trace_##name[], bench_trace_##name##_end[]

TRACE(arrays);
TRACE(objects);

const struct trace_text *trace_text(size_t which) {
    static const struct trace_text texts[TRACES] = {{"arrays", bench_trace_arrays, bench_trace_arrays_end},
                                                    {"objects", bench_trace_objects, bench_trace_objects_end}};
    return &texts[which];
}
