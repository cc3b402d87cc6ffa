// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A handler for errors of one type.
struct JobErrorHandler: Sendable {
  /// How specific a handler is for an error, most specific first.
  private enum Closeness: Int {
    /// The handler's type is that of the error.
    case same
    /// The handler's type is a base class of the error's.
    case base
    /// The handler's type is a protocol, or a type that the error converts to.
    case convertible
    /// The handler accepts every error.
    case any
  }

  private let type: Any.Type
  private let closeness: @Sendable (any Error) -> Closeness?
  /// Returns whether a class is the handler's or derived from it.
  private let isBase: @Sendable (Any.Type) -> Bool
  private let handler: @MainActor (any Error) -> Void

  init<Failure>(_ type: Failure.Type, _ handler: @escaping @MainActor (Failure) -> Void) {
    self.type = type
    closeness = { error in
      if Failure.self == (any Error).self { return .any }
      guard error is Failure else { return nil }
      let own = Swift.type(of: error) as Any.Type
      return own == Failure.self ? .same : own is Failure.Type ? .base : .convertible
    }
    isBase = { $0 is Failure.Type }
    self.handler = { error in
      if let failure = error as? Failure { handler(failure) }
    }
  }

  @MainActor func callAsFunction(_ error: any Error) { handler(error) }

  /// Returns the handler to call for an error: the most specific one, and among equals the one that was attached first.
  static func mostSpecific(of handlers: [JobErrorHandler], for error: any Error) -> JobErrorHandler? {
    var best: (handler: JobErrorHandler, closeness: Closeness)?
    for handler in handlers {
      guard let closeness = handler.closeness(error) else { continue }
      if let best {
        guard closeness.rawValue <= best.closeness.rawValue else { continue }
        let isEqual = closeness == best.closeness
        let isDerived = closeness == .base && handler.type != best.handler.type && best.handler.isBase(handler.type)
        if isEqual, !isDerived { continue }
      }
      best = (handler, closeness)
    }
    return best?.handler
  }
}
