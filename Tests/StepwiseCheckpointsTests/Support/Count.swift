// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Synchronization
import Testing

/// Counts up to three, noting which stages did their work.
enum Count: Progression, Codable, Equatable {
  case at(Int)
  case done(String)

  @TaskLocal static var log = Log()

  /// Which stages did their work.
  final class Log: Sendable {
    private let entries = Mutex([Int]())
    var all: [Int] { entries.withLock { $0 } }
    func append(_ entry: Int) { entries.withLock { $0.append(entry) } }
  }

  struct Broken: Error {}

  var result: String? {
    if case .done(let result) = self { result } else { nil }
  }

  @concurrent func next() async throws -> Count {
    guard case .at(let number) = self else { return try completed() }
    Self.log.append(number)
    if number == 100 { throw Broken() }
    return number < 3 ? .at(number + 1) : .done("three")
  }
}

/// Runs the body with a log of its own, and gives what was noted.
func logged(_ body: () async throws -> Void) async throws -> [Int] {
  let log = Count.Log()
  try await Count.$log.withValue(log) { try await body() }
  return log.all
}
