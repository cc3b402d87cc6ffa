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
