/* What the library tells the jemalloc inside it (alloc/heap.c): this program's other copy, the bare arena's, is told
 * the same. Alone in its file, which no sanitizer may see: what one puts beside a variable of this name would clash
 * with the library's. */
extern const char *ferry_je_malloc_conf;
const char *ferry_je_malloc_conf = "retain:false,dirty_decay_ms:-1,muzzy_decay_ms:-1,lg_extent_max_active_fit:64,"
                                   "narenas:1,percpu_arena:disabled,background_thread:false,thp:default";
