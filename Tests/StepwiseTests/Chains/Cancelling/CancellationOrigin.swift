// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// All who may ask a run to stop.
enum CancellationOrigin: String, CaseIterable, Sendable {
  case task, handle
  case chainTokenOfRun, chainTokenOfStart
  case tokenAroundRun, tokenAroundStart
  case overlap
  case cancelRunsOfRun, cancelRunsOfStart

  /// The reason that `finally`, events and outcome are to see.
  var reason: String {
    switch self {
    case .task: "-"
    case .overlap: "cancelPrevious"
    default: rawValue
    }
  }

  /// A plain run does not hear of `cancelRuns` before its next step.
  var interruptsAtOnce: Bool { self != .cancelRunsOfRun }

  static var interrupting: [CancellationOrigin] { allCases.filter(\.interruptsAtOnce) }

  /// Begins a run that this one can cancel.
  func begin<Output: Sendable>(_ chain: Chain<Int, Output>) -> Cancellable<Output> {
    switch self {
    case .task:
      let task = spawn { await resultOf { try await chain.run(0) } }
      return Cancellable(cancel: { task.cancel() }, result: { await task.value })
    case .handle:
      let run = chain.start(0)
      return Cancellable(run, cancel: { run.cancel(reason: rawValue) })
    case .chainTokenOfRun:
      let token = chain.cancellationToken
      let task = spawn { await resultOf { try await chain.run(0) } }
      return Cancellable(cancel: { token.cancel(reason: rawValue) }, result: { await task.value })
    case .chainTokenOfStart:
      return Cancellable(chain.start(0), cancel: { chain.cancellationToken.cancel(reason: rawValue) })
    case .tokenAroundRun:
      let token = CancellationToken()
      let task = spawn { await resultOf { try await withCancellation(by: token) { try await chain.run(0) } } }
      return Cancellable(cancel: { token.cancel(reason: rawValue) }, result: { await task.value })
    case .tokenAroundStart:
      let token = CancellationToken()
      let task = spawn { await resultOf { try await withCancellation(by: token) { chain.start(0) } } }
      return Cancellable(
        cancel: {
          _ = await task.value
          token.cancel(reason: rawValue)
        },
        result: { await resultOf { try await task.value.get().value } },
        run: { try? await task.value.get() }
      )
    case .overlap:
      let gated = chain.overlap(.cancelPrevious)
      return Cancellable(gated.start(0), cancel: { gated.start(1) })
    case .cancelRunsOfRun:
      let task = spawn { await resultOf { try await chain.run(0) } }
      return Cancellable(cancel: { chain.cancelRuns(reason: rawValue) }, result: { await task.value })
    case .cancelRunsOfStart:
      return Cancellable(chain.start(0), cancel: { chain.cancelRuns(reason: rawValue) })
    }
  }
}

/// A run that has begun, and how to cancel it.
struct Cancellable<Output: Sendable>: Sendable {
  let cancel: @Sendable () async -> Void
  let result: @Sendable () async -> Result<Output, any Error>
  /// The handle, where there is one.
  let run: @Sendable () async -> Run<Output>?

  init(
    cancel: @escaping @Sendable () async -> Void,
    result: @escaping @Sendable () async -> Result<Output, any Error>,
    run: @escaping @Sendable () async -> Run<Output>? = { nil }
  ) {
    self.cancel = cancel
    self.result = result
    self.run = run
  }

  init(_ run: Run<Output>, cancel: @escaping @Sendable () async -> Void) {
    self.init(cancel: cancel, result: { await resultOf { try await run.value } }, run: { run })
  }
}
