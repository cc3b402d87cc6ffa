// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How the values of a type are stored: as JSON, `Void` as nothing, and `Void?` as whether there is a value.
package struct DurableValues<Value> {
  private enum Form {
    case json(any Codable.Type)
    case void
    case optionalVoid
    case results(any DurableResults.Type)
  }

  private let form: Form
  /// The step that returns them, for the errors in a list of results.
  private var step = ""

  /// Nil for a type that cannot be stored.
  init?(of step: String = "") {
    self.init(storing: Value.self)
    self.step = step
  }

  package init(_ type: Value.Type) where Value: Codable { form = .json(type) }

  package init(_ type: Void.Type) where Value == Void { form = .void }

  init?(erasing type: any Sendable.Type) where Value == any Sendable { self.init(storing: type) }

  private init?(storing type: Any.Type) {
    if let type = type as? any Codable.Type {
      form = .json(type)
    } else if type == Void.self {
      form = .void
    } else if type == Void?.self {
      form = .optionalVoid
    } else if let type = type as? any DurableResults.Type, type.isStorable {
      form = .results(type)
    } else {
      return nil
    }
  }

  /// Why a type cannot be stored.
  static func refusal(of type: Any.Type) -> String {
    "its type, \(type), is not Codable; return a struct or an enum that conforms to Codable"
  }

  /// Returns the bytes of a value, and the value that is decoded from them.
  ///
  /// - Throws: `DataError` when the value changes, and the errors of the encoder and the decoder.
  func stored(_ value: Value) throws -> (bytes: [UInt8], copy: Value) {
    let bytes = try encode(value)
    let copy = try decode(bytes)
    try StageDifference.check(copy, equals: value)
    return (bytes, copy)
  }

  package func encode(_ value: Value) throws -> [UInt8] {
    switch form {
    case .json(let type): try encode(value, as: type)
    case .void: []
    case .optionalVoid: Array(((value as? Void?) ?? nil) == nil ? "null".utf8 : "{}".utf8)
    case .results: try Array(JSONEncoder.ofStages.encode((value as? any DurableResults)?.stored(of: step) ?? []))
    }
  }

  package func decode(_ bytes: [UInt8]) throws -> Value {
    let decoded: Any =
      switch form {
      case .json(let type): try JSONDecoder.ofStages.decode(type, from: Data(bytes))
      case .void: ()
      case .optionalVoid: (bytes.elementsEqual("null".utf8) ? nil : ()) as Void? as Any
      case .results(let type):
        try type.init(JSONDecoder.ofStages.decode([StoredResult].self, from: Data(bytes)), of: step)
      }
    guard let value = decoded as? Value else {
      throw DataError(reason: "it is not a \(Value.self)")
    }
    return value
  }

  private func encode<Stored: Codable>(_ value: Value, as type: Stored.Type) throws -> [UInt8] {
    guard let value = value as? Stored else { throw DataError(reason: "it is not a \(Stored.self)") }
    return try Array(JSONEncoder.ofStages.encode(value))
  }
}

/// An error that a step of a durable run threw, where the type of the original is not `Codable`.
///
/// A durable run stores what its steps throw, and a resumed one throws it again without running the step. Conform the
/// type of an error to `Codable` to catch it by its type; a private or local type cannot be found again.
public struct StepFailure: Error, Codable, Hashable, Sendable, CustomStringConvertible {
  /// The step: its name, or its position in the chain.
  public let step: String

  /// The name of the error's type.
  public let type: String

  /// The description of the error.
  public let message: String

  /// The step, the type and the description.
  public var description: String { "\(step) threw \(type): \(message)" }
}

extension StoredFailure {
  /// Creates what is stored of an error of a step.
  init(_ error: any Error, of step: String) {
    let type = StoredReason.typeName(Swift.type(of: error))
    self.init(kind: .other, type: type, description: String(describing: error))
    if let (kind, value) = Self.own(error, of: step) {
      (self.kind, self.value) = (kind, value)
    } else if let error = error as? any (Error & Codable), let name = _mangledTypeName(Swift.type(of: error)),
      let bytes = try? JSONEncoder.ofStages.encode(error)
    {
      var codable = self
      (codable.kind, codable.mangledName, codable.value) = (.codable, name, Array(bytes))
      if codable.decoded != nil { self = codable }
    }
  }

  /// Returns the error of a step that was stored, which a replay throws.
  func error(of step: String) -> any Error {
    (try? own()) ?? decoded ?? StepFailure(step: step, type: type, message: description)
  }

  private var decoded: (any Error)? {
    guard kind == .codable, let type = _typeByName(mangledName) as? any (Error & Decodable).Type else { return nil }
    return try? JSONDecoder.ofStages.decode(type, from: Data(value))
  }

  // MARK: - Errors of this package

  private static func own(_ error: any Error, of step: String) -> (Kind, [UInt8])? {
    var bytes: [UInt8] = []
    switch error {
    case is CancellationError: return (.cancellation, [])
    case let error as TimeoutError:
      let (seconds, attoseconds) = error.duration.clamped.components
      bytes.write(error.step, Int(seconds), Int(attoseconds))
      if let underlying = error.underlyingError { bytes.write(StoredFailure(underlying, of: step)) }
      return (.timeout, bytes)
    case let error as RaceError:
      for error in error.errors { bytes.write(StoredFailure(error, of: step)) }
      return (.race, bytes)
    case let error as ChainError:
      bytes.write(Self.chainErrors.firstIndex(of: error) ?? 0)
      return (.chain, bytes)
    case CheckpointError.unstorable(let id, let location, let step, let reason):
      bytes.write(id, location, step, reason)
      return (.checkpoint, bytes)
    default: return nil
    }
  }

  /// By their stored numbers.
  private static let chainErrors: [ChainError] = [.reentrant, .outsideRun, .runHasEnded]

  private func own() throws(DataError) -> (any Error)? {
    var reader = ByteReader(value)
    switch kind {
    case .other, .codable: return nil
    case .cancellation: return CancellationError()
    case .timeout:
      let step = try reader.read(String.self)
      let (seconds, attoseconds) = (try reader.read(Int.self), try reader.read(Int.self))
      let duration = Duration(secondsComponent: Int64(seconds), attosecondsComponent: Int64(attoseconds))
      let underlying = reader.isAtEnd ? nil : try reader.read(StoredFailure.self).error(of: step)
      return TimeoutError(step: step, duration: duration, underlyingError: underlying)
    case .race:
      var errors: [any Error] = []
      while !reader.isAtEnd { errors.append(try reader.read(StoredFailure.self).error(of: "")) }
      return RaceError(errors: errors)
    case .chain:
      let index = try reader.read(Int.self)
      return Self.chainErrors.indices.contains(index) ? Self.chainErrors[index] : nil
    case .checkpoint:
      let (id, location) = (try reader.read(String.self), try reader.read(String.self))
      return CheckpointError.unstorable(id: id, location: location, step: try reader.read(), reason: try reader.read())
    }
  }
}
