// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What the words inside of `async` and `task(_:)` set, each of which holds when it is the last of its kind.
final class TaskDraft: Sendable {
  @TaskLocal static var current: TaskDraft?

  typealias Start = @MainActor () -> Void
  typealias Update = @MainActor (TaskValue) -> Void
  typealias Finish = @MainActor (TaskValue?, (any Error)?) -> Void
  typealias Failure = @MainActor (any Error) -> Void

  /// A handler for errors of one type.
  struct TypeHandler: Sendable {
    let type: any Error.Type
    let matches: @Sendable (any Error) -> Bool
    let handler: Failure
  }

  struct Contents: Sendable {
    var work: Work?
    var timeout: Duration?
    var clock: any Clock<Duration> = ContinuousClock()
    var onStart: Start?
    var onUpdate: Update?
    var onFinish: Finish?
    var onError: Failure?
    var types: [TypeHandler] = []
    /// By what is left of the error's name.
    var names: [String: Failure] = [:]

    /// The handler for an error: that for its own type, else for one that it is of, else for its name, else for all.
    ///
    /// A handler for a `RequestError` is not one for an `OfflineError`, as Elevate went by the name of the class.
    @available(*, deprecated)
    func handler(for error: any Error) -> Failure? {
      if let own = types.last(where: { $0.type == type(of: error) }) { return own.handler }
      let others = error is RequestError ? types.filter { $0.type != RequestError.self } : types
      if let other = others.last(where: { $0.matches(error) }) { return other.handler }
      return names[TaskDraft.key("\(type(of: error))")] ?? onError
    }
  }

  private let contents = Lock(Contents())

  /// Has the words in a block set what they name.
  static func contents(of block: () -> Void) -> Contents {
    let draft = TaskDraft()
    $current.withValue(draft, operation: block)
    return draft.contents.withLock { $0 }
  }

  /// Sets something in the block that is being read.
  static func set(_ change: (inout Contents) -> Void) {
    guard let current else {
      // Safety: a programming error, detected the first time that the line runs; Ruby raised NoMethodError.
      preconditionFailure("task, background, timeout and the words that begin with on belong into async or task(name)")
    }
    var contents = current.contents.withLock { $0 }
    change(&contents)
    _ = current.contents.withLock { [contents] in exchange(&$0, with: contents) }
  }

  /// What is left of an error's name: `OfflineError`, `offline` and `OFF_LINE` are the same.
  static func key(_ name: String) -> String {
    let name = name.lowercased().filter { $0 != "_" }
    return name.hasSuffix("error") && name.count > 5 ? String(name.dropLast(5)) : name
  }
}
