// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseCheckpoints
import Testing

@Suite struct CheckpointStoreTests {}
