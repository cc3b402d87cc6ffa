// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

/// Races on real threads, one after another, so that each has the processors.
@Suite(.serialized, .timeLimit(.minutes(10))) enum Races {}
