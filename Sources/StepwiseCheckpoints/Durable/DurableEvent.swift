// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One thing that a durable run has stored; a run is the sequence of its events.
package enum DurableEvent: Hashable, Sendable {
  /// The body of a step that can be undone is about to run.
  case began(String, thread: Int? = nil)
  /// A step has completed. `thread` is the length of the path of the code that calls it one after another with others;
  /// nil for a step of a child task.
  case completed(String, thread: Int?, number: Int, value: [UInt8], isUndoable: Bool)
  /// A step, or a group of steps, has failed; or its task was cancelled, which may come before the step in a replay.
  case failed(String, thread: Int?, number: Int, StoredFailure, isInterrupted: Bool = false)
  /// These steps are going to be undone.
  case undoing([Int])
  case undone(Int)
  /// The undo of a step has thrown; it is tried again by the process that resumes the run.
  case undoFailed(Int, StoredFailure)
  /// The step has completed without an undo, and the code has one now.
  case undoable(Int)
  /// The step has nothing to undo any more, although its value could not be stored.
  case settled(String)
  /// The attempt in a scope has failed, and what it completed is going to be undone.
  case attemptFailed(String, StoredFailure)
  /// An attempt has failed and was undone.
  case attemptEnded(String, attempt: Int)
  /// The branch that has decided a race, or the failure of a `zip`; the attempt that none follows; 0 for work that
  /// ended in time.
  case decided(String, branch: Int)
  /// When a wait or a time limit ends, in milliseconds since 1970.
  case deadline(String, Int)
  case cancelled(reason: String?)
  case concluded(StoredOutcome)
  /// A signal was consumed, by the step that the event follows.
  case received(Int)
  /// What could not be undone is given up.
  case abandoned
}

/// How a durable run ended.
package enum StoredOutcome: Hashable, Sendable {
  case resolved([UInt8])
  case failed(StoredFailure)
  case cancelled(reason: String?, underlying: StoredFailure?)
}

/// An error as it is stored.
package struct StoredFailure: Error, Hashable {
  package enum Kind: UInt8, Sendable {
    /// Its type is not `Codable`.
    case other
    /// Its type has the mangled name, and the value is its JSON.
    case codable
    /// Of this package; the value is private to its methods.
    case cancellation, timeout, race, chain, checkpoint
  }

  package var kind: Kind
  package var type: String
  package var mangledName = ""
  package var description: String
  package var value: [UInt8] = []

  package init(kind: Kind, type: String = "", description: String = "") {
    self.kind = kind
    self.type = type
    self.description = description
  }

  /// The description or, without one, the type.
  package var text: String { description.isEmpty ? (type.isEmpty ? "\(kind)" : type) : description }
}

// MARK: - Bytes

extension DurableEvent {
  /// Returns the bytes of some events: each with a tag, and its fields in order.
  package static func bytes(of events: some Sequence<DurableEvent>) -> [UInt8] {
    var bytes: [UInt8] = []
    for event in events { event.write(to: &bytes) }
    return bytes
  }

  /// Reads events.
  ///
  /// - Throws: `DataError` when the bytes are not those of events.
  package static func events(in bytes: some Collection<UInt8>) throws(DataError) -> [DurableEvent] {
    var reader = ByteReader(bytes)
    var events: [DurableEvent] = []
    while !reader.isAtEnd { events.append(try DurableEvent(from: &reader)) }
    return events
  }

  /// The values that steps stored in an entry, by their paths; none when it is not an entry of a durable run.
  package static func values(in entry: [UInt8]) -> [String: [UInt8]] {
    var values: [String: [UInt8]] = [:]
    for case .completed(let path, _, _, let value, _) in (try? events(in: entry)) ?? [] { values[path] = value }
    return values
  }

  /// The signals that an entry consumes; none when it is not an entry of a durable run.
  package static func signals(in entry: [UInt8]) -> [Int] {
    ((try? events(in: entry)) ?? []).compactMap { if case .received(let signal) = $0 { signal } else { nil } }
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .began(let path, let thread): bytes.event(1, path, thread.map { $0 + 1 } ?? 0)
    case .completed(let path, let thread, let number, let value, let isUndoable):
      bytes.event(isUndoable ? 3 : 2, path, thread.map { $0 + 1 } ?? 0, number, value)
    case .failed(let path, let thread, let number, let failure, let isInterrupted):
      bytes.event(isInterrupted ? 18 : 4, path, thread.map { $0 + 1 } ?? 0, number, failure)
    case .undoing(let numbers):
      bytes.event(5, numbers.count)
      for number in numbers { bytes.write(number) }
    case .undone(let number): bytes.event(6, number)
    case .settled(let path): bytes.event(7, path)
    case .attemptEnded(let path, let attempt): bytes.event(8, path, attempt)
    case .decided(let path, let branch): bytes.event(9, path, branch)
    case .deadline(let path, let time): bytes.event(10, path, max(0, time))
    case .cancelled(let reason): bytes.event(11, reason)
    case .concluded(.resolved(let value)): bytes.event(12, value)
    case .concluded(.failed(let failure)): bytes.event(13, failure)
    case .concluded(.cancelled(let reason, let underlying)): bytes.event(14, reason, underlying)
    case .abandoned: bytes.event(15)
    case .attemptFailed(let scope, let failure): bytes.event(16, scope, failure)
    case .received(let signal): bytes.event(17, signal)
    case .undoable(let number): bytes.event(19, number)
    case .undoFailed(let number, let failure): bytes.event(20, number, failure)
    }
  }

  private init(from reader: inout ByteReader) throws(DataError) {
    switch try reader.byte() {
    case 1: self = .began(try reader.read(), thread: Self.thread(try reader.read()))
    case let tag where [2, 3, 4, 18].contains(tag):
      let (path, thread) = (try reader.read(String.self), Self.thread(try reader.read()))
      let number = try reader.read(Int.self)
      self =
        tag < 4
        ? .completed(path, thread: thread, number: number, value: try reader.read(), isUndoable: tag == 3)
        : .failed(path, thread: thread, number: number, try reader.read(), isInterrupted: tag == 18)
    case 5:
      var numbers: [Int] = []
      for _ in 0..<(try reader.read(Int.self)) { numbers.append(try reader.read()) }
      self = .undoing(numbers)
    case 6: self = .undone(try reader.read())
    case 7: self = .settled(try reader.read())
    case 8: self = .attemptEnded(try reader.read(), attempt: try reader.read())
    case 9: self = .decided(try reader.read(), branch: try reader.read())
    case 10: self = .deadline(try reader.read(), try reader.read())
    case 11: self = .cancelled(reason: try reader.read())
    case 12: self = .concluded(.resolved(try reader.read()))
    case 13: self = .concluded(.failed(try reader.read()))
    case 14: self = .concluded(.cancelled(reason: try reader.read(), underlying: try reader.read()))
    case 15: self = .abandoned
    case 16: self = .attemptFailed(try reader.read(), try reader.read())
    case 17: self = .received(try reader.read())
    case 19: self = .undoable(try reader.read())
    case 20: self = .undoFailed(try reader.read(), try reader.read())
    case let tag: throw DataError(reason: "it contains an unknown event, \(tag)")
    }
  }

  private static func thread(_ stored: Int) -> Int? { stored == 0 ? nil : stored - 1 }
}

extension [UInt8] {
  /// Appends an event: its tag and its fields.
  fileprivate mutating func event<each Field: StoredField>(_ tag: UInt8, _ field: repeat each Field) {
    append(tag)
    write(repeat each field)
  }
}

extension StoredFailure: StoredField {
  func write(to bytes: inout [UInt8]) {
    bytes.append(kind.rawValue)
    bytes.write(type, mangledName, description, value)
  }

  init(reading reader: inout ByteReader) throws(DataError) {
    guard let kind = Kind(rawValue: try reader.byte()) else {
      throw DataError(reason: "it contains an error of an unknown kind")
    }
    self.kind = kind
    (type, mangledName) = (try reader.read(), try reader.read())
    (description, value) = (try reader.read(), try reader.read())
  }
}
