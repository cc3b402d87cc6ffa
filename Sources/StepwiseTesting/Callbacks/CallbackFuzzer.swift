// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise

/// A callback API that misbehaves, to test the adapter that you wrote for one.
///
/// Use it before your users find the API that calls back twice, late, or never.
///
/// ```swift
/// try await CallbackFuzzer.check(seeds: 0..<200) { api in
///   try await withResolver { resolver in
///     let request = api.start { value, error in resolver.resolve(value, error) }
///     resolver.onCancel { _ in request.cancel() }
///   }
/// }
/// ```
public final class CallbackFuzzer: Sendable {
  /// What the API does with its callback.
  public enum Behaviour: String, Sendable, CaseIterable {
    /// Calls it once, with a value, after a while.
    case once
    /// Calls it once, with an error, after a while.
    case failure
    /// Calls it with a value, and later with another one.
    case twice
    /// Calls it with an error, and later with a value.
    case failureThenValue
    /// Calls it before `start` returns.
    case atOnce
    /// Calls it after a day.
    case late
    /// Calls it on another thread, before `start` returns.
    case otherThread
    /// Retains it, and calls it only after the request was cancelled.
    case afterCancel
    /// Retains it and never calls it.
    case never
    /// Releases it without a call.
    case released
  }

  /// The error of ``Behaviour/failure``.
  public struct Failure: Error, Hashable, Sendable {}

  /// A request that was started.
  public struct Request: Sendable {
    fileprivate let api: CallbackFuzzer

    /// Cancels the request, as a callback API would.
    public func cancel() {
      if api.behaviour == .afterCancel { api.retained.withLock { $0.take() }?(1, nil) }
    }
  }

  private typealias Callback = @Sendable (Int?, (any Error)?) -> Void

  /// What this instance does.
  public let behaviour: Behaviour
  private let clock: ManualClock
  private let delay: Duration
  /// The callback that is retained.
  private let retained = Lock<Callback?>(nil)

  init(seed: UInt64, clock: ManualClock) {
    var generator = SeededGenerator(seed: seed)
    behaviour = Behaviour.allCases.randomElement(using: &generator) ?? .once
    delay = .milliseconds(Int.random(in: 1...5_000, using: &generator))
    self.clock = clock
  }

  /// Starts the operation, as a callback API would, and returns before it has completed.
  ///
  /// - Parameter completion: Called, or not, as ``behaviour`` says: with a value or an error, at any time.
  /// - Returns: The request.
  @discardableResult
  public func start(_ completion: @escaping @Sendable (Int?, (any Error)?) -> Void) -> Request {
    switch behaviour {
    case .once: call(completion, [(delay, 1)])
    case .failure: call(completion, [(delay, nil)])
    case .twice: call(completion, [(delay, 1), (.seconds(1), 2)])
    case .failureThenValue: call(completion, [(delay, nil), (.seconds(1), 2)])
    case .atOnce: completion(1, nil)
    case .late: call(completion, [(.seconds(86_400), 1)])
    case .otherThread: callOnOtherThread(completion)
    case .afterCancel, .never: _ = retained.withLock { exchange(&$0, with: completion) }
    case .released: break
    }
    return Request(api: self)
  }

  /// Calls with a value, or with an error instead of nil, after each delay.
  private func call(_ completion: @escaping Callback, _ answers: [(delay: Duration, value: Int?)]) {
    Task { [clock] in
      for (delay, value) in answers {
        try await clock.sleep(for: delay)
        completion(value, value == nil ? Failure() : nil)
      }
    }
  }

  /// Blocks until the other thread has called, because the virtual time of a simulation does not advance for it.
  private func callOnOtherThread(_ completion: @escaping Callback) {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      completion(1, nil)
      done.signal()
    }
    done.wait()
  }
}

extension CallbackFuzzer {
  /// Runs an adapter once for each seed, each time on an API with another behaviour, and checks that it ends correctly.
  ///
  /// Each run is a simulation. A run that has not completed after two days of its virtual clock is cancelled, and must
  /// then complete. An adapter must return the value, or throw the error, of the first call; for an API that never
  /// calls back it may throw any error.
  ///
  /// - Parameters:
  ///   - seeds: The seeds to try.
  ///   - fileID: The file that a report names, as `#fileID`.
  ///   - filePath: The file that a report names, as `#filePath`.
  ///   - line: The line that a report names.
  ///   - column: The column that a report names.
  ///   - adapter: Starts the API and awaits its answer.
  /// - Throws: ``SimulationFailure`` for the first seed at which the adapter does not complete or returns something
  ///   else. An adapter that resumes a continuation twice ends the process, as the continuation does.
  public nonisolated(nonsending) static func check(
    seeds: Range<UInt64>,
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column,
    _ adapter: @escaping @Sendable (CallbackFuzzer) async throws -> Int
  ) async throws {
    for seed in seeds {
      try Task.checkCancellation()
      try await simulate(seed: seed, fileID: fileID, filePath: filePath, line: line, column: column) { clock in
        let api = CallbackFuzzer(seed: seed, clock: clock)
        let run = Task { try await adapter(api) }
        let patience = Task {
          try await clock.sleep(for: .seconds(2 * 86_400))
          run.cancel()
        }
        let result = await run.result
        patience.cancel()
        try api.expect(result)
      }
    }
  }

  private func expect(_ result: Result<Int, any Error>) throws {
    switch (behaviour, result) {
    case (.once, .success(1)), (.twice, .success(1)), (.atOnce, .success(1)), (.late, .success(1)),
      (.otherThread, .success(1)), (.afterCancel, .success(1)):
      break
    case (.failure, .failure(let error)), (.failureThenValue, .failure(let error)):
      try require(error is Failure, "API that \(behaviour): the adapter threw \(error), not the API's error.")
    case (.afterCancel, .failure), (.never, .failure), (.released, .failure):
      break
    default:
      throw SimulationError.unmet("API that calls back as '\(behaviour)': the adapter ended with \(result).")
    }
  }
}
