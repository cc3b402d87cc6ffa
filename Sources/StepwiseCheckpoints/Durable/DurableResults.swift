// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A list of values and errors that can be stored, as `thenMap` with kept failures returns it.
protocol DurableResults {
  /// Whether the values can be stored.
  static var isStorable: Bool { get }

  init(_ results: [StoredResult], of step: String) throws
  func stored(of step: String) throws -> [StoredResult]
}

/// One of a list of values and errors.
protocol DurableResult {
  static var isStorable: Bool { get }

  init(_ result: StoredResult, of step: String) throws
  func stored(of step: String) throws -> StoredResult
}

/// What is stored of one of a list of values and errors.
struct StoredResult: Codable {
  /// The value as it is stored elsewhere; nil for an error.
  var value: String?
  /// The description of the error, for the reader of a list.
  var error: String?
  /// What is stored of the error of a step.
  var failure: Data?
}

extension Array: DurableResults where Element: DurableResult {
  static var isStorable: Bool { Element.isStorable }

  init(_ results: [StoredResult], of step: String) throws { self = try results.map { try Element($0, of: step) } }

  func stored(of step: String) throws -> [StoredResult] { try map { try $0.stored(of: step) } }
}

extension Result: DurableResult where Failure == any Error {
  static var isStorable: Bool { DurableValues<Success>() != nil }

  init(_ result: StoredResult, of step: String) throws {
    if let failure = result.failure {
      var reader = ByteReader(Array(failure))
      self = .failure(try reader.read(StoredFailure.self).error(of: step))
    } else {
      self = .success(try Self.values.decode(Array((result.value ?? "").utf8)))
    }
  }

  func stored(of step: String) throws -> StoredResult {
    switch self {
    case .success(let value): return StoredResult(value: String(decoding: try Self.values.encode(value), as: UTF8.self))
    case .failure(let error):
      var bytes: [UInt8] = []
      bytes.write(StoredFailure(error, of: step))
      return StoredResult(error: "\(error)", failure: Data(bytes))
    }
  }

  private static var values: DurableValues<Success> {
    get throws {
      guard let values = DurableValues<Success>() else {
        throw DataError(reason: DurableValues<Success>.refusal(of: Success.self))
      }
      return values
    }
  }
}
