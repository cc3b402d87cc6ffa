// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFleet

/// The server, through PostgreSQL's own programs.
struct Database: Sendable {
  static let schema = "stepwise_benchmark"

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let connectionString: String

  func fleet(slots: Int = 16) -> Fleet {
    Fleet(connectionString, configuration: FleetConfiguration(schema: Self.schema, slots: slots))
  }

  /// Runs statements; returns what psql prints.
  @discardableResult
  func run(_ sql: String) throws -> String {
    let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", connectionString, "-c", sql]
    return try Self.output("psql", arguments)
  }

  /// The transactions a second of pgbench's simple update with 8 clients.
  func simpleUpdates() throws -> Double {
    _ = try pgbench(["-i", "-q", "-s", "10"])
    let output = try pgbench(["-N", "-c", "8", "-j", "2", "-T", "10"])
    _ = try pgbench(["-i", "-I", "d"])
    return try number(after: "tps = ", in: output)
  }

  func pgbench(_ arguments: [String]) throws -> String {
    // pgbench takes the connection from the environment or from its options, not from a string.
    var variables = ProcessInfo.processInfo.environment
    let names = [
      "host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE", "password": "PGPASSWORD",
    ]
    for part in connectionString.split(separator: " ") {
      let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
      if pair.count == 2, let name = names[pair[0]] { variables[name] = pair[1] }
    }
    return try Self.output("pgbench", arguments, variables)
  }

  func number(after label: String, in text: String) throws -> Double {
    guard let range = text.range(of: label),
      let number = Double(text[range.upperBound...].prefix { $0.isNumber || $0 == "." })
    else { throw Failure(description: "\"\(label)\" is missing in: \(text)") }
    return number
  }

  private static func output(
    _ program: String,
    _ arguments: [String],
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws -> String {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.environment = environment
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(program) ended with code \(process.terminationStatus)")
    }
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

extension Fleet {
  /// Waits until so many jobs are in a state.
  func wait(for count: Int, in state: FleetState) async throws {
    // Safety: a pause between two looks at the table; the server's clock measures.
    while try await counts()[state] ?? 0 < count { try await Task.sleep(for: .milliseconds(500)) }
  }
}
