// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package struct JobSettings: Sendable {
  package var timeout: TimeLimit?
  package var deadline: TimeLimit?
  var owner: JobOwner?
  package var priority: TaskPriority?
  package var handlers = JobHandlers()
}

package struct JobHandlers: Sendable {
  package var onStart: [@MainActor () -> Void] = []
  package var onUpdate: [@MainActor (any AnyBox) -> Void] = []
  package var onTimeout: [@MainActor () -> Void] = []
  package var onError: [JobErrorHandler] = []
  package var onFinish: [@MainActor (Outcome<Void>, borrowing ValueSlot) -> Void] = []

  /// Returns whether there may be a handler to call for an outcome.
  func include(_ outcome: Outcome<Void>) -> Bool {
    switch outcome {
    case .resolved: !onFinish.isEmpty
    case .failed: !(onTimeout.isEmpty && onError.isEmpty && onFinish.isEmpty)
    case .cancelled: false
    }
  }
}

/// The owner of a job's handlers, which is not retained.
final class JobOwner: Sendable {
  private let id: ObjectIdentifier
  // Safety: only its existence is checked; a read that may release it last happens on the main actor.
  private nonisolated(unsafe) weak let owner: AnyObject?

  init(_ owner: AnyObject) {
    id = ObjectIdentifier(owner)
    self.owner = owner
  }

  @MainActor var isAlive: Bool { owner != nil }

  /// Returns whether an object is the owner, and not a later one at the same address.
  func isSame(_ object: AnyObject) -> Bool { ObjectIdentifier(object) == id && owner === object }
}

/// A handler for errors of one type.
package struct JobErrorHandler: Sendable {
  /// How specific a handler is for an error, most specific first.
  private enum Closeness: Int {
    case same
    /// The handler's type is a base class of the error's.
    case base
    /// The handler's type is a protocol, or a type that the error converts to.
    case convertible
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

  /// Returns the handler to call for an error: the most specific one, and among equals the first.
  static func mostSpecific(of handlers: [JobErrorHandler], for error: any Error) -> JobErrorHandler? {
    let fitting = handlers.compactMap { handler in handler.closeness(error).map { (handler, $0) } }
    guard let closest = fitting.map(\.1.rawValue).min() else { return nil }
    let equals = fitting.filter { $0.1.rawValue == closest }.map(\.0)
    guard closest == Closeness.base.rawValue else { return equals.first }
    // The most derived one.
    return equals.first { handler in !equals.contains { $0.type != handler.type && handler.isBase($0.type) } }
  }
}
