// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Linked into the tests for what it does before they start; there is nothing to call.
