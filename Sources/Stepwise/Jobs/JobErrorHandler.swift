// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A handler for errors of one type.
struct JobErrorHandler: Sendable {
  /// How close a type is to that of an error, the closest first.
  private enum Closeness: Int {
    /// The error's own.
    case same
    /// A class that the error's is derived from.
    case base
    /// A protocol, or what the error can be converted to.
    case convertible
    /// Of every error.
    case any
  }

  private let type: Any.Type
  private let closeness: @Sendable (any Error) -> Closeness?
  /// Whether a class is the handler's or derived from it.
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

  /// The one of several that an error goes to: the most specific, and among equals the one that was attached first.
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
