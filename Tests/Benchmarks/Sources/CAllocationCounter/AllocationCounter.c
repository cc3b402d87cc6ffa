// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include "CAllocationCounter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(uint64_t) calls;

uint64_t allocation_counter_read(void) { return atomic_load_explicit(&calls, memory_order_relaxed); }

#if defined(__GLIBC__)

// The definitions of the executable come before those of the C library, also for the shared libraries that it loads.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static void count(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

bool allocation_counter_is_available(void) { return true; }

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
  count();
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  count();
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void *aligned = __libc_memalign(alignment, size);
  if (aligned == NULL) return ENOMEM;
  *memory = aligned;
  return 0;
}

#else

bool allocation_counter_is_available(void) { return false; }

#endif
