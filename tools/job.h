/* One operation on files, from the first byte read to the last written. */
#ifndef FERRY_TOOLS_JOB_H
#define FERRY_TOOLS_JOB_H

#include "progress.h"
#include "report.h"

typedef struct job {
    ferry_op op;
    int ninputs;
    const char *input_paths[2], *output_path;
    bool measure;

    /* While it runs. */
    ferry_array inputs[2], output;
    progress progress;
    bool traced;
    uint64_t step_start_ns, step_start_modelled_ns;
} job;

/* An exit status, with a message when not EXIT_DONE; *out is then undefined. The library has been started. */
int job_run(job *j, report *out);

#endif
