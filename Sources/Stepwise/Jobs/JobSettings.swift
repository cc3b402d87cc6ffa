// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The settings of a job's modifiers.
struct JobSettings: Sendable {
  var timeout: TimeLimit?
  var deadline: TimeLimit?
  var owner: JobOwner?
  var priority: TaskPriority?
  var handlers = JobHandlers()
}

/// The handlers of a job.
struct JobHandlers: Sendable {
  var onStart: [@MainActor () -> Void] = []
  var onUpdate: [@MainActor (any AnyBox) -> Void] = []
  var onTimeout: [@MainActor () -> Void] = []
  var onError: [JobErrorHandler] = []
  var onFinish: [@MainActor (Outcome<Void>, borrowing ValueSlot) -> Void] = []

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

/// The time limits of one launch.
struct JobLimits: Sendable {
  private let timeout: TimeLimit?
  let deadline: TimeLimit?

  /// Starts the time of the deadline; returns nil when there is no limit.
  init?(_ settings: JobSettings) {
    guard settings.timeout != nil || settings.deadline != nil else { return nil }
    timeout = settings.timeout
    deadline = settings.deadline?.started()
  }

  /// Does the work.
  ///
  /// - Throws: The error of the work; `TimeoutError` when no time was left.
  nonisolated(nonsending) func limit<Output: Sendable>(
    _ launch: JobLaunch,
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    guard let deadline else { return try await limitTime(launch, work) }
    return try await limited(to: deadline, step: launch.timeIsUp) { try await limitTime(launch, work) }
  }

  private nonisolated(nonsending) func limitTime<Output: Sendable>(
    _ launch: JobLaunch,
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    guard let timeout else { return try await work() }
    return try await limited(to: timeout, step: launch.timeIsUp, operation: work)
  }
}

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

  /// Returns the handler to call for an error: the most specific one, and among equals the first.
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

/// The name, limits and numbers of handlers of a job: all that another module can read of it.
package struct JobPlan {
  package let name: String
  package let priority: TaskPriority?
  package let timeout: Duration?
  package let deadline: Duration?
  package let onStart: Int
  package let onUpdate: Int
  package let onTimeout: Int
  package let onError: Int
  package let onFinish: Int
}
