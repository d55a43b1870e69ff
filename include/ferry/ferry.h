/* Everything. */
#ifndef FERRY_FERRY_H
#define FERRY_FERRY_H

#include "ferry/apply.h"
#include "ferry/cache.h"
#include "ferry/dlpack.h"
#include "ferry/dtype.h"
#include "ferry/kernel.h"
#include "ferry/link.h"
#include "ferry/matmul.h"
#include "ferry/memory.h"
#include "ferry/movement.h"
#include "ferry/npy.h"
#include "ferry/pays.h"
#include "ferry/reduce.h"
#include "ferry/site.h"
#include "ferry/stats.h"
#include "ferry/status.h"
#include "ferry/strict.h"
#include "ferry/torch.h"
#include "ferry/version.h"
#include "ferry/view.h"

#endif
