// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One thing that a durable run has stored; a run is the sequence of its events.
package enum DurableEvent: Hashable, Sendable {
  /// The body of a step that can be undone is about to run.
  case began(String, by: DurableCaller)
  case completed(String, by: DurableCaller, number: Int, value: [UInt8], isUndoable: Bool)
  case failed(String, by: DurableCaller, number: Int, StoredFailure)
  /// A wait between steps is over, such as that for a time limit, for an attempt or for undos.
  case waited(String, task: Int)
  /// A task of the code between steps has returned from elsewhere, such as the main actor.
  case returned(task: Int)
  /// These steps are going to be undone.
  case undoing([Int])
  case undone(Int)
  /// The undo of a step has thrown; it is tried again by the process that resumes the run.
  case undoFailed(Int, StoredFailure)
  /// The step has completed without an undo, and the code has one now.
  case undoable(Int)
  /// The step has nothing to undo any more, although its value could not be stored.
  case settled(String)
  /// When a wait or a time limit ends, in milliseconds since 1970.
  case deadline(String, Int)
  /// How much time attempts had taken when one of them failed, in milliseconds.
  case elapsed(String, Int)
  case cancelled(reason: String?)
  case concluded(StoredOutcome)
  /// A signal was consumed, by the step that the event follows.
  case received(Int)
  /// What could not be undone is given up.
  case abandoned
}

extension DurableEvent {
  /// Whether it says how the run has ended.
  var isOutcome: Bool {
    switch self {
    case .concluded, .abandoned: true
    default: false
    }
  }

  /// Whether it says only how the code between steps went on.
  var isOfOrder: Bool {
    switch self {
    case .waited, .returned: true
    default: false
    }
  }
}

/// Who has called a step, for a comparison with the calls in a replay.
package struct DurableCaller: Hashable, Sendable {
  /// The number of the task, in the order in which the tasks of the code begin.
  package let task: Int
  /// How many steps the code had called when this one began or ended, at least.
  package let calls: Int

  package init(task: Int, calls: Int) { (self.task, self.calls) = (task, calls) }
}

extension DurableCaller: StoredField {
  func write(to bytes: inout [UInt8]) { bytes.write(task, calls) }

  init(reading reader: inout ByteReader) throws(DataError) {
    self.init(task: try reader.read(), calls: try reader.read())
  }
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
    case .began(let path, let caller): bytes.event(1, path, caller)
    case .completed(let path, let caller, let number, let value, let isUndoable):
      bytes.event(isUndoable ? 3 : 2, path, caller, number, value)
    case .failed(let path, let caller, let number, let failure): bytes.event(4, path, caller, number, failure)
    case .undoing(let numbers):
      bytes.event(5, numbers.count)
      for number in numbers { bytes.write(number) }
    case .undone(let number): bytes.event(6, number)
    case .settled(let path): bytes.event(7, path)
    case .waited(let path, let task): bytes.event(8, path, task)
    case .returned(let task): bytes.event(9, task)
    case .deadline(let path, let time): bytes.event(10, path, max(0, time))
    case .elapsed(let path, let time): bytes.event(19, path, max(0, time))
    case .cancelled(let reason): bytes.event(11, reason)
    case .concluded(.resolved(let value)): bytes.event(12, value)
    case .concluded(.failed(let failure)): bytes.event(13, failure)
    case .concluded(.cancelled(let reason, let underlying)): bytes.event(14, reason, underlying)
    case .abandoned: bytes.event(15)
    case .received(let signal): bytes.event(16, signal)
    case .undoable(let number): bytes.event(17, number)
    case .undoFailed(let number, let failure): bytes.event(18, number, failure)
    }
  }

  private init(from reader: inout ByteReader) throws(DataError) {
    switch try reader.byte() {
    case 1: self = .began(try reader.read(), by: try reader.read())
    case let tag where [2, 3, 4].contains(tag):
      let (path, caller, number): (String, DurableCaller, Int) = (
        try reader.read(), try reader.read(), try reader.read()
      )
      self =
        tag < 4
        ? .completed(path, by: caller, number: number, value: try reader.read(), isUndoable: tag == 3)
        : .failed(path, by: caller, number: number, try reader.read())
    case 5:
      var numbers: [Int] = []
      for _ in 0..<(try reader.read(Int.self)) { numbers.append(try reader.read()) }
      self = .undoing(numbers)
    case 6: self = .undone(try reader.read())
    case 7: self = .settled(try reader.read())
    case 8: self = .waited(try reader.read(), task: try reader.read())
    case 9: self = .returned(task: try reader.read())
    case 10: self = .deadline(try reader.read(), try reader.read())
    case 19: self = .elapsed(try reader.read(), try reader.read())
    case 11: self = .cancelled(reason: try reader.read())
    case 12: self = .concluded(.resolved(try reader.read()))
    case 13: self = .concluded(.failed(try reader.read()))
    case 14: self = .concluded(.cancelled(reason: try reader.read(), underlying: try reader.read()))
    case 15: self = .abandoned
    case 16: self = .received(try reader.read())
    case 17: self = .undoable(try reader.read())
    case 18: self = .undoFailed(try reader.read(), try reader.read())
    case let tag: throw DataError(reason: "it contains an unknown event, \(tag)")
    }
  }
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
