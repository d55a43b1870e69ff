/* What holds for a part of a thread's work: its stream, and whether loops wait. */
#ifndef FERRY_PYTHON_SCOPES_H
#define FERRY_PYTHON_SCOPES_H

#include "ferry/ferry.h"

/* The calling thread's own stream, made when first asked for; NULL, the library's, when it cannot be made. */
ferry_stream *thread_stream(void);

/* Whether the thread is inside `with ferry.stream()`: its launches are then only noted. */
bool thread_is_asynchronous(void);

/* Waits for what the thread has launched without waiting. FERRY_BACKEND reports a failed kernel. */
ferry_status thread_settle(void);

/* What becomes of a launch on the thread's stream, whose status is given: it is waited for, or noted. */
ferry_status thread_launched(ferry_status status);

/* An operation on that stream: inputs, then the output. *exceptions are FERRY_FP_… values, 0 where nothing waits. */
ferry_status thread_apply(ferry_op op, const ferry_view *views, unsigned *exceptions);

#endif
