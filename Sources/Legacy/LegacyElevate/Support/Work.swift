// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// A background block that was handed over: it runs on a queue's threads, and never beside itself.
///
/// Old blocks are not `@Sendable`. A task that is launched twice has its block run again after the first run left it.
struct Work: Sendable {
  private let chain: Chain<TaskScope, TaskValue>

  init<Output>(_ body: Sent<() async throws -> sending Output>) {
    self.init { _ in TaskValue(try await body.value()) }
  }

  init(_ body: nonisolated(nonsending) @escaping @Sendable (TaskScope) async throws -> TaskValue) {
    chain = Chain(
      Step { scope in
        try await TaskScope.run(scope, body)
      }.executor(QueueExecutor.shared)
    ).overlap(.serial)
  }

  nonisolated(nonsending) func callAsFunction(_ scope: TaskScope) async throws -> TaskValue {
    try await chain.run(scope)
  }
}
