// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Synchronization

func scanInPlainSwift(_ scanner: Scanner, clock: ManualClock, cancelledBy token: CancellationToken) async throws
  -> String
{
  let work = Task {
    try await withThrowingTaskGroup(of: String.self) { group in
      group.addTask { try await scan(scanner) }
      group.addTask {
        try await clock.sleep(for: .seconds(10))
        throw NoAnswer()
      }
      defer { group.cancelAll() }
      guard let code = try await group.next() else { throw CancellationError() }
      return code
    }
  }
  let registration = token.onCancel { _ in work.cancel() }
  defer { registration.remove() }
  let code = try await withTaskCancellationHandler {
    try await work.value
  } onCancel: {
    work.cancel()
  }
  try Task.checkCancellation()
  return "\(code): 3.50"
}

private func scan(_ scanner: Scanner) async throws -> String {
  let once = Once()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      guard once.store(continuation) else { return }
      scanner.start { code, error in
        if let error {
          once.resume(with: .failure(error))
        } else if let code {
          if once.resume(with: .success(code)) == .late { scanner.log.record("discarded \(code)") }
        }
      }
    }
  } onCancel: {
    once.resume(with: .failure(CancellationError()))
    scanner.stop()
  }
}

/// A continuation that is resumed once, whatever comes first.
private final class Once: Sendable {
  private enum State {
    case empty
    case waiting(CheckedContinuation<String, any Error>)
    case done(isCancelled: Bool)
  }

  enum Arrival { case first, repeated, late }

  private let state = Mutex(State.empty)

  func store(_ continuation: CheckedContinuation<String, any Error>) -> Bool {
    let isStored = state.withLock { state in
      guard case .empty = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !isStored { continuation.resume(throwing: CancellationError()) }
    return isStored
  }

  @discardableResult
  func resume(with result: Result<String, any Error>) -> Arrival {
    var isCancelled = false
    if case .failure(is CancellationError) = result { isCancelled = true }
    let (continuation, arrival) = state.withLock { state -> (CheckedContinuation<String, any Error>?, Arrival) in
      switch state {
      case .empty:
        state = .done(isCancelled: isCancelled)
        return (nil, .first)
      case .waiting(let continuation):
        state = .done(isCancelled: isCancelled)
        return (continuation, .first)
      case .done(let isCancelled):
        return (nil, isCancelled ? .late : .repeated)
      }
    }
    continuation?.resume(with: result)
    return arrival
  }
}
