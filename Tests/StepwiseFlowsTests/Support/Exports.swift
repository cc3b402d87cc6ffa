// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// For all files of these tests.
@_exported import TestSupport
