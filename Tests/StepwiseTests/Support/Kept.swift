// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A place for something that a test lets go of when it wants to.
final class Kept<Value: Sendable>: Sendable {
  let value = Lock<Value?>(nil)
}
