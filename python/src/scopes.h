/* What holds for a part of a thread's work: its stream, and whether loops wait. */
#ifndef FERRY_PYTHON_SCOPES_H
#define FERRY_PYTHON_SCOPES_H

#include "ferry/ferry.h"

/* The calling thread's own stream, made when first asked for; NULL, the library's, when it cannot be made. */
ferry_stream *thread_stream(void);

/* Whether the thread is inside `with ferry.stream()`: its launches are then only noted. */
bool thread_is_asynchronous(void);
void thread_note_launch(void);

/* Waits for what the thread has launched without waiting. FERRY_BACKEND reports a failed kernel. */
ferry_status thread_settle(void);

#endif
