// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One thing that a durable run has stored; a run is the sequence of its events.
package enum DurableEvent: Hashable, Sendable {
  /// The body of a step that can be undone is about to run.
  case began(String)
  /// A step has completed. `index` is its position among the steps of the task that owns the place.
  case completed(String, index: Int?, number: Int, value: [UInt8], isUndoable: Bool)
  /// A step, or a group of steps, has failed; or its task was cancelled, which may come before the step in a replay.
  case failed(String, index: Int?, number: Int, StoredFailure, isInterrupted: Bool = false)
  /// These steps are going to be undone.
  case undoing([Int])
  case undone(Int)
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
package struct StoredFailure: Hashable, Sendable {
  package enum Kind: UInt8, Sendable {
    /// Its type is not `Codable`.
    case other
    /// Its type has the mangled name, and the value is its JSON.
    case codable
    /// Of this package; the value is private to `DurableFailures`.
    case cancellation, timeout, race, chain, checkpoint
  }

  package var kind: Kind
  package var type: String
  package var mangledName: String
  package var description: String
  package var value: [UInt8]

  package init(
    kind: Kind,
    type: String = "",
    mangledName: String = "",
    description: String = "",
    value: [UInt8] = []
  ) {
    self.kind = kind
    self.type = type
    self.mangledName = mangledName
    self.description = description
    self.value = value
  }
}

// MARK: - Bytes

extension DurableEvent {
  /// Returns the bytes of some events: each with a tag, and its fields in order.
  ///
  /// Numbers have seven bits a byte, least significant first; texts and values are preceded by their length.
  package static func bytes(of events: some Sequence<DurableEvent>) -> [UInt8] {
    var writer = DurableWriter()
    for event in events { event.write(to: &writer) }
    return writer.bytes
  }

  /// Reads events.
  ///
  /// - Throws: `DurableFormatError` when the bytes are not those of events.
  package static func events(in bytes: some Collection<UInt8>) throws(DurableFormatError) -> [DurableEvent] {
    var reader = DurableReader(bytes)
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

  private func write(to writer: inout DurableWriter) {
    switch self {
    case .began(let path):
      writer.tag(1)
      writer.text(path)
    case .completed(let path, let index, let number, let value, let isUndoable):
      writer.tag(isUndoable ? 3 : 2)
      writer.text(path)
      writer.number(index.map { $0 + 1 } ?? 0)
      writer.number(number)
      writer.value(value)
    case .failed(let path, let index, let number, let failure, let isInterrupted):
      writer.tag(isInterrupted ? 18 : 4)
      writer.text(path)
      writer.number(index.map { $0 + 1 } ?? 0)
      writer.number(number)
      writer.failure(failure)
    case .undoing(let numbers):
      writer.tag(5)
      writer.number(numbers.count)
      for number in numbers { writer.number(number) }
    case .undone(let number):
      writer.tag(6)
      writer.number(number)
    case .settled(let path):
      writer.tag(7)
      writer.text(path)
    case .attemptEnded(let path, let attempt):
      writer.tag(8)
      writer.text(path)
      writer.number(attempt)
    case .decided(let path, let branch):
      writer.tag(9)
      writer.text(path)
      writer.number(branch)
    case .deadline(let path, let time):
      writer.tag(10)
      writer.text(path)
      writer.number(max(0, time))
    case .cancelled(let reason):
      writer.tag(11)
      writer.optionalText(reason)
    case .concluded(.resolved(let value)):
      writer.tag(12)
      writer.value(value)
    case .concluded(.failed(let failure)):
      writer.tag(13)
      writer.failure(failure)
    case .concluded(.cancelled(let reason, let underlying)):
      writer.tag(14)
      writer.optionalText(reason)
      writer.number(underlying == nil ? 0 : 1)
      if let underlying { writer.failure(underlying) }
    case .abandoned:
      writer.tag(15)
    case .attemptFailed(let scope, let failure):
      writer.tag(16)
      writer.text(scope)
      writer.failure(failure)
    case .received(let signal):
      writer.tag(17)
      writer.number(signal)
    }
  }

  private init(from reader: inout DurableReader) throws(DurableFormatError) {
    switch try reader.tag() {
    case 1: self = .began(try reader.text())
    case let tag where tag == 2 || tag == 3:
      let (path, index, number) = (try reader.text(), try reader.number(), try reader.number())
      self = .completed(
        path,
        index: index == 0 ? nil : index - 1,
        number: number,
        value: try reader.value(),
        isUndoable: tag == 3
      )
    case let tag where tag == 4 || tag == 18:
      let (path, index, number) = (try reader.text(), try reader.number(), try reader.number())
      self = .failed(
        path,
        index: index == 0 ? nil : index - 1,
        number: number,
        try reader.failure(),
        isInterrupted: tag == 18
      )
    case 5:
      var numbers: [Int] = []
      for _ in 0..<(try reader.number()) { numbers.append(try reader.number()) }
      self = .undoing(numbers)
    case 6: self = .undone(try reader.number())
    case 7: self = .settled(try reader.text())
    case 8: self = .attemptEnded(try reader.text(), attempt: try reader.number())
    case 9: self = .decided(try reader.text(), branch: try reader.number())
    case 10: self = .deadline(try reader.text(), try reader.number())
    case 11: self = .cancelled(reason: try reader.optionalText())
    case 12: self = .concluded(.resolved(try reader.value()))
    case 13: self = .concluded(.failed(try reader.failure()))
    case 14:
      let reason = try reader.optionalText()
      self = .concluded(.cancelled(reason: reason, underlying: try reader.number() == 0 ? nil : try reader.failure()))
    case 15: self = .abandoned
    case 16: self = .attemptFailed(try reader.text(), try reader.failure())
    case 17: self = .received(try reader.number())
    case let tag: throw DurableFormatError(reason: "it contains an unknown event, \(tag)")
    }
  }
}

/// The reason why bytes are not those of a durable run.
package struct DurableFormatError: Error {
  package let reason: String
}

/// Writes the fields of events.
struct DurableWriter {
  private(set) var bytes: [UInt8] = []

  mutating func tag(_ tag: UInt8) { bytes.append(tag) }

  mutating func number(_ number: Int) {
    var rest = UInt64(bitPattern: Int64(number))
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func value(_ value: some Collection<UInt8>) {
    number(value.count)
    bytes += value
  }

  mutating func text(_ text: String) { value(text.utf8) }

  mutating func optionalText(_ text: String?) {
    number(text == nil ? 0 : 1)
    if let text { self.text(text) }
  }

  mutating func failure(_ failure: StoredFailure) {
    tag(failure.kind.rawValue)
    text(failure.type)
    text(failure.mangledName)
    text(failure.description)
    value(failure.value)
  }
}

/// Reads the fields of events; allocates no more than there are bytes.
struct DurableReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: some Collection<UInt8>) { rest = ArraySlice(bytes) }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func tag() throws(DurableFormatError) -> UInt8 {
    guard let byte = rest.popFirst() else { throw Self.truncated }
    return byte
  }

  mutating func number() throws(DurableFormatError) -> Int {
    var (result, shift): (UInt64, UInt64) = (0, 0)
    while true {
      let byte = try tag()
      guard shift < 63 || byte <= 1 else { throw DurableFormatError(reason: "it contains an impossible number") }
      result |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { break }
      shift += 7
    }
    guard let number = Int(exactly: result) else {
      throw DurableFormatError(reason: "it contains an impossible number")
    }
    return number
  }

  mutating func value() throws(DurableFormatError) -> [UInt8] {
    let count = try number()
    guard count <= rest.count else { throw Self.truncated }
    defer { rest.removeFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func text() throws(DurableFormatError) -> String {
    guard let text = String(validating: try value(), as: UTF8.self) else {
      throw DurableFormatError(reason: "it contains a name that is not UTF-8")
    }
    return text
  }

  mutating func optionalText() throws(DurableFormatError) -> String? { try number() == 0 ? nil : try text() }

  mutating func failure() throws(DurableFormatError) -> StoredFailure {
    guard let kind = StoredFailure.Kind(rawValue: try tag()) else {
      throw DurableFormatError(reason: "it contains an error of an unknown kind")
    }
    let (type, mangledName, description) = (try text(), try text(), try text())
    return StoredFailure(
      kind: kind,
      type: type,
      mangledName: mangledName,
      description: description,
      value: try value()
    )
  }

  private static let truncated = DurableFormatError(reason: "it is truncated")
}
