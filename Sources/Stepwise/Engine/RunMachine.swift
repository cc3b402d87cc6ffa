// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides the outcome of a run.
///
/// Sources of cancellation request it; the result of the last step or attempt closes the run, once. From then on
/// nothing changes the outcome, neither during undos and handlers nor afterwards.
struct RunMachine {
  private enum State {
    case open
    case cancellationRequested(Cancellation)
    /// The outcome is decided; handlers may still run.
    case closed(request: Cancellation?)
    case over(request: Cancellation?)
  }

  private var state = State.open

  /// The cancellation of the run, if it was requested in time.
  var request: Cancellation? {
    switch state {
    case .open: nil
    case .cancellationRequested(let request): request
    case .closed(let request), .over(let request): request
    }
  }

  var isOver: Bool {
    if case .over = state { true } else { false }
  }

  /// Whether the outcome is decided.
  var isClosed: Bool {
    switch state {
    case .open, .cancellationRequested: false
    case .closed, .over: true
    }
  }

  /// Whether no event has occurred yet.
  var isOpen: Bool {
    if case .open = state { true } else { false }
  }

  /// Whether cancellation was requested and the run continues.
  var isInterrupted: Bool {
    if case .cancellationRequested = state { true } else { false }
  }

  /// Returns whether this call cancelled the run.
  mutating func requestCancellation(_ request: Cancellation) -> Bool {
    guard case .open = state else { return false }
    state = .cancellationRequested(request)
    return true
  }

  /// Closes the run: with an error, or otherwise with the value of the last step.
  mutating func close(with error: (any Error)?) -> Outcome<Void> {
    let request = request
    if !isOver { state = .closed(request: request) }
    return Self.outcome(of: error, cancelledBy: request)
  }

  /// How a run ends that was or was not cancelled in time.
  static func outcome(of error: (any Error)?, cancelledBy request: Cancellation?) -> Outcome<Void> {
    guard let error else { return .resolved(()) }
    guard let request else { return .failed(error) }
    let underlying = error is CancellationError ? nil : error
    return .cancelled(Cancellation(reason: request.reason, underlyingError: underlying))
  }

  mutating func end() {
    state = .over(request: request)
  }
}
