// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include "TestDefaults.h"

#include <stdlib.h>

// Without a limit Swift Testing starts all tests at once, and on a machine of two processors those that wait for a server
// then fail behind those that compute. Capturing a backtrace for each error that is thrown, of which the tests throw
// hundreds of thousands, takes longer than the tests. Both can be set only in the environment, where a value that is
// already there is kept.
__attribute__((constructor)) static void set_defaults(void) {
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0);
  setenv("SWT_SWIFT_ERROR_BACKTRACING_ENABLED", "0", 0);
}
