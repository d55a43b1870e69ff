add_library(ferry_jemalloc INTERFACE)
