// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// The steps and handlers of a legacy chain: what all `StepChain`s that were made from one another share and change.
final class Line: Sendable {
  typealias ErrorHandler = Solo<Fault, Void>
  typealias FinallyHandler = Solo<Outcome<any AnySent>, Void>

  /// An error on its way to the one handler.
  struct Fault: Sendable {
    let error: any Error
  }

  private struct State {
    var parts: [Part]
    var errorHandler: ErrorHandler?
    /// The handler of a chain that was appended, for as long as there is none of the line's own.
    var inheritedErrorHandler: ErrorHandler?
    var finallyHandler: FinallyHandler?
    /// The chain that this one was appended to: its token is this one's now.
    var outer: Line?

    mutating func adoptHandlers(of inner: State) {
      inheritedErrorHandler = inner.errorHandler ?? inner.inheritedErrorHandler ?? inheritedErrorHandler
      finallyHandler = inner.finallyHandler ?? finallyHandler
    }
  }

  private let state: Lock<State>

  /// Does nothing; all chains that run the line are derived from it, so that they share its token.
  private let entry = Chain<Parcel, Parcel> { $0 }

  init(_ part: Part) {
    state = Lock(State(parts: [part]))
  }

  /// The token that ends every run of the line.
  var token: Stepwise.CancellationToken {
    outermost.entry.cancellationToken
  }

  /// Lets a part follow the first `count` ones, in place of those that did.
  ///
  /// - Returns: how many there are now.
  func append(_ part: Part, after count: Int) -> Int {
    state.withLock { state in
      state.parts.replaceSubrange(min(count, state.parts.count)..., with: CollectionOfOne(part))
      return state.parts.count
    }
  }

  private var outermost: Line {
    var line = self
    while let outer = line.state.withLock({ $0.outer }) { line = outer }
    return line
  }

  /// Lets another line's steps follow the first `count` ones.
  ///
  /// - Returns: how many there are now.
  func append(_ other: Line, after count: Int) -> Int {
    let isWithin = outermost === other
    let inner = other.state.withLock { inner in
      if !isWithin { inner.outer = self }
      return inner
    }
    return state.withLock { state in
      state.parts.replaceSubrange(min(count, state.parts.count)..., with: inner.parts)
      state.adoptHandlers(of: inner)
      return state.parts.count
    }
  }

  func setErrorHandler(_ handler: ErrorHandler) { state.withLock { $0.errorHandler = handler } }
  func setFinallyHandler(_ handler: FinallyHandler) { state.withLock { $0.finallyHandler = handler } }

  // MARK: - Running

  /// The chain that a start runs.
  ///
  /// Handlers are looked up when they are due, since they may be attached after the start.
  func makeChain() -> Chain<Parcel, Parcel> {
    steps(after: entry)
      .then { parcel in
        // In a loop: a chain that goes on with itself again and again does not grow.
        var parcel = parcel
        while let detour = parcel.detour {
          self.adoptHandlers(of: detour)
          parcel = try await detour.steps(after: Chain { $0 }).run(Parcel(content: parcel.content))
        }
        return parcel
      }
      .onError { error in
        let handler = self.state.withLock { $0.errorHandler ?? $0.inheritedErrorHandler }
        try? await handler?(Fault(error: error))
      }
      .finally { outcome in
        let handler = self.state.withLock { $0.finallyHandler }
        try? await handler?(outcome.map { ($0 as? Parcel)?.content ?? Sent(()) })
      }
  }

  private func steps(after entry: Chain<Parcel, Parcel>) -> Chain<Parcel, Parcel> {
    state.withLock { $0.parts }.reduce(entry) { chain, part in chain.then(part.step) }
  }

  private func adoptHandlers(of other: Line) {
    guard other !== self else { return }
    let inner = other.state.withLock { $0 }
    state.withLock { $0.adoptHandlers(of: inner) }
  }
}
