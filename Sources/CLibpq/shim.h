// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include <libpq-fe.h>
