// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation

  /// A PostgreSQL in a temporary directory, reached through a socket in it.
  struct PrivatePostgres: Sendable {
    struct Missing: Error, CustomStringConvertible {
      let description: String
    }

    private let directory: String
    private let bin: String

    /// Creates a database and starts the server.
    init() throws {
      guard let bin = Self.programs() else {
        throw Missing(description: "initdb is not installed; install PostgreSQL (Debian: apt-get install postgresql)")
      }
      self.bin = bin
      directory =
        FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-\(UUID().uuidString.prefix(8))").path
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      // The server refuses to run as root.
      if getuid() == 0 { try Self.run("chown", ["postgres", directory]) }
      try tool("initdb", ["-D", "\(directory)/data", "-U", "tour", "-A", "trust"])
      let server = process("postgres", ["-D", "\(directory)/data", "-c", "listen_addresses=", "-k", directory])
      try server.run()
      while (try? Self.run("\(bin)/pg_isready", ["-q", "-h", directory])) == nil {
        guard server.isRunning else { throw Missing(description: "the server ended with \(server.terminationStatus)") }
      }
    }

    var connectionString: String { "host=\(directory) user=tour dbname=postgres" }

    func stop() {
      try? tool("pg_ctl", ["-w", "-D", "\(directory)/data", "-m", "immediate", "stop"])
      try? FileManager.default.removeItem(atPath: directory)
    }

    /// The directory of the newest version that Debian or Homebrew has installed.
    private static func programs() -> String? {
      let roots = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"]
      let candidates = roots.flatMap { root in
        ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).map { "\(root)/\($0)/bin" }
      }
      return candidates.filter { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
        .max { $0.compare($1, options: .numeric) == .orderedAscending }
    }

    private func tool(_ name: String, _ arguments: [String]) throws { try Self.finish(process(name, arguments)) }

    private func process(_ name: String, _ arguments: [String]) -> Process {
      let command = ["\(bin)/\(name)"] + arguments
      return Self.process(getuid() == 0 ? ["runuser", "-u", "postgres", "--"] + command : command)
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
      try finish(process([program] + arguments))
    }

    private static func process(_ command: [String]) -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = command
      process.currentDirectoryURL = URL(fileURLWithPath: "/")
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      return process
    }

    private static func finish(_ process: Process) throws {
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        let command = process.arguments?.first ?? ""
        throw Missing(description: "\(command) ended with code \(process.terminationStatus)")
      }
    }
  }
#endif
