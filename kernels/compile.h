/* Source to code: from the disk cache, else by NVRTC. */
#ifndef FERRY_KERNELS_COMPILE_H
#define FERRY_KERNELS_COMPILE_H

#include "nvrtc_program.h"

/* nvrtc_compile, kept on disk. *compiled (may be NULL) tells whether NVRTC had to run. */
ferry_status compile_source(const nvrtc_request *request, code_image *out, bool *compiled);

#endif
