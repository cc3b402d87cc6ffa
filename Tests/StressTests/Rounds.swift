// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// How often each race is run.
let rounds = Int(ProcessInfo.processInfo.environment["STEPWISE_ROUNDS"] ?? "") ?? 10_000
