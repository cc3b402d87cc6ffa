// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What `onError` is given.
@available(
  *,
  deprecated,
  message: "Write `@Sendable (any Error) -> Void`, or async, which is what onError of Chain takes"
)
public typealias StepErrorHandler = (any Error) -> Void
