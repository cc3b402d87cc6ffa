// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Ends `next()` of the last stage, which is never called.
///
/// No stage follows the one with a result. Code that requests one stops the program here.
@available(*, deprecated, message: "Write `try completed()`, which throws in place of stopping the program")
public func completedStep<P: Progression>(_ stage: P) -> Never {
  fatalError("\(stage) is the last stage")  // Safety: old code ends a switch with it, so that it cannot return.
}

/// Ends `next()` of the last stage, as `completedStep` does.
@available(*, deprecated, message: "Write `try completed()`, which throws in place of stopping the program")
public func completedStage<P: Progression>(_ stage: P) -> Never { completedStep(stage) }
