// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a step ended.
@available(*, deprecated)
enum Ended: Sendable {
  /// With an output.
  ///
  /// `continuing` is the chain that the step chose to continue with, in place of the steps that follow it.
  case resolved(any Carried, continuing: Node? = nil)
  case failed(any Error)
  case cancelled
}
