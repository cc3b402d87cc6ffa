// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise

  /// A PostgreSQL of a test's own, which the test stops and kills.
  final class TestServer: Sendable {
    static let bin: String? = {
      let root = "/usr/lib/postgresql"
      let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
      return versions.max { (Int($0) ?? 0) < (Int($1) ?? 0) }.map { "\(root)/\($0)/bin" }
    }()

    let port: Int
    private let directory: String

    init(port: Int) throws {
      self.port = port
      directory = NSTemporaryDirectory() + "stepwise-fleet-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      if getuid() == 0 { try run("/bin/chown", ["postgres", directory]) }
      try tool("initdb", ["-D", "\(directory)/data", "-U", "tester", "-A", "trust", "--no-sync"])
      try start()
    }

    deinit {
      try? stop("immediate")
      try? FileManager.default.removeItem(atPath: directory)
    }

    var connectionString: String { "host=127.0.0.1 port=\(port) user=tester dbname=postgres" }

    /// Starts the server as a child and returns when it accepts connections.
    ///
    /// `pg_ctl start` would leave a server behind that holds what `Process` waits on.
    func start() throws {
      let (path, arguments) = command(
        "postgres",
        [
          "-D", "\(directory)/data", "-p", "\(port)", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k",
          directory,
        ]
      )
      let process = Process()
      process.executableURL = URL(fileURLWithPath: path)
      process.arguments = arguments
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      process.currentDirectoryURL = URL(fileURLWithPath: "/")
      try process.run()
      while process.isRunning {
        if (try? run("\(Self.bin ?? "")/pg_isready", ["-q", "-h", "127.0.0.1", "-p", "\(port)"])) != nil { return }
      }
      throw Failure(text: "the server ended with \(process.terminationStatus)")
    }

    /// Starts the server after it ended or was killed: until its processes are gone, another one may not start.
    func startAgain() throws {
      for attempt in 1... {
        do { return try start() } catch { if attempt == 100 { throw error } }
      }
    }

    func stop(_ mode: String) throws { try tool("pg_ctl", ["-w", "-D", "\(directory)/data", "-m", mode, "stop"]) }

    /// Kills the server's first process; the others notice, and end.
    func kill() throws {
      let file = try String(contentsOfFile: "\(directory)/data/postmaster.pid", encoding: .utf8)
      guard let process = file.split(separator: "\n").first.flatMap({ Int32($0) }) else { throw Failure(text: file) }
      Foundation.kill(process, SIGKILL)
    }

    private func tool(_ name: String, _ arguments: [String]) throws {
      let (path, arguments) = command(name, arguments)
      try run(path, arguments)
    }

    /// The server refuses to run as root.
    private func command(_ name: String, _ arguments: [String]) -> (String, [String]) {
      let path = "\(Self.bin ?? "")/\(name)"
      return getuid() == 0 ? ("/sbin/runuser", ["-u", "postgres", "--", path] + arguments) : (path, arguments)
    }

    private func run(_ path: String, _ arguments: [String]) throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: path)
      process.arguments = arguments
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      process.currentDirectoryURL = URL(fileURLWithPath: "/")
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw Failure(text: "\(path) \(arguments) ended with \(process.terminationStatus)")
      }
    }
  }
#endif
