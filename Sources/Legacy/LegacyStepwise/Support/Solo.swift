// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// A closure that was handed over: it runs on its queue, and never beside itself.
///
/// Old closures are not `@Sendable`. A chain that is started twice, or that stands in two others, has each of its closures
/// run again when the run before has left it.
struct Solo<Input: Sendable, Output: Sendable>: Sendable {
  private let chain: Chain<Input, Output>

  init(_ step: Stepwise.Step<Input, Output>, on executor: QueueExecutor = .shared) {
    chain = Chain(step.executor(executor)).overlap(.serial)
  }

  nonisolated(nonsending) func callAsFunction(_ input: Input) async throws -> Output {
    try await chain.run(input)
  }
}
