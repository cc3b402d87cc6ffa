// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// How often a race is run: `STEPWISE_ROUNDS` in the environment, or 1,000.
let rounds = ProcessInfo.processInfo.environment["STEPWISE_ROUNDS"].flatMap(Int.init) ?? 1_000
