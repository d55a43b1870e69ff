/* An explicit version, PROGRAM, compiled as C with the stand-in for CUDA's runtime. */
#include PROGRAM

#include "with_cuda.cu"
