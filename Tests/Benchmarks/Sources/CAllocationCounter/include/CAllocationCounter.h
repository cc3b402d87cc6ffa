// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Whether calls are counted on this system.
bool allocation_counter_is_available(void);

/// How often this process has called malloc, calloc, realloc, or one of their aligned kin.
uint64_t allocation_counter_read(void);
