// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides how a run ends.
///
/// Whoever wants to cancel it asks; what the last step or attempt ended with closes it, once. From then on nothing changes
/// the outcome: not while undos and handlers run, and not afterwards.
struct RunMachine {
  private enum State {
    case open
    case cancellationRequested(Cancellation)
    /// The outcome is decided; handlers may still run.
    case closed(request: Cancellation?)
    case over(request: Cancellation?)
  }

  private var state = State.open

  /// What the run was asked, if it was in time.
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

  /// Whether nothing has happened yet.
  var isOpen: Bool {
    if case .open = state { true } else { false }
  }

  /// Whether the run was asked to stop and goes on.
  var isInterrupted: Bool {
    if case .cancellationRequested = state { true } else { false }
  }

  /// Returns whether this was the call that cancelled the run.
  mutating func requestCancellation(_ request: Cancellation) -> Bool {
    guard case .open = state else { return false }
    state = .cancellationRequested(request)
    return true
  }

  /// Closes the run: with an error, or, when there is none, with the value that the last step returned.
  mutating func close(with error: (any Error)?) -> Outcome<Void> {
    let request = request
    if !isOver { state = .closed(request: request) }
    guard let error else { return .resolved(()) }
    guard let request else { return .failed(error) }
    let underlying = error is CancellationError ? nil : error
    return .cancelled(Cancellation(reason: request.reason, underlyingError: underlying))
  }

  mutating func end() {
    state = .over(request: request)
  }
}
