// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet

  /// A PostgreSQL of a test's own, which the test stops and kills.
  final class TestServer: Sendable {
    static let bin: String? = {
      let root = "/usr/lib/postgresql"
      let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
      return versions.max { (Int($0) ?? 0) < (Int($1) ?? 0) }.map { "\(root)/\($0)/bin" }
    }()

    let port: Int
    private let directory: String
    private let user = getuid() == 0 ? "postgres" : nil
    private let process = Lock<TestProcess?>(nil)
    /// A program that the server is started under.
    private let prefix: [String]

    /// The directory of a small file system, for a tablespace.
    var space: String { "\(directory)/space" }

    /// Starts a server, or a standby of another one; with a size, it sees a file system in memory that has so many megabytes.
    init(standbyOf primary: TestServer? = nil, megabytes: Int? = nil) async throws {
      // Below the ports that systems give to clients.
      port = Int.random(in: 20_000..<30_000)
      directory = NSTemporaryDirectory() + "stepwise-fleet-\(UUID().uuidString)"
      let space = directory + "/space"
      prefix = megabytes.map { Self.mounting(megabytes: $0, at: space) } ?? []
      try FileManager.default.createDirectory(atPath: space, withIntermediateDirectories: true)
      // The server refuses to run as root.
      if let user { try await TestProcess.run(["chown", user, directory]) }
      if let primary {
        try await create("data", with: primary.copying + ["-R"])
      } else {
        try await create("data", with: ["initdb", "-A", "trust"])
      }
      try await start()
    }

    static let canBackUp = FileManager.default.isExecutableFile(atPath: "\(bin ?? "")/pg_basebackup")

    /// The command that copies the data of the running server.
    private var copying: [String] { ["pg_basebackup", "-c", "fast", "-h", "127.0.0.1", "-p", "\(port)"] }

    private func create(_ name: String, with command: [String]) async throws {
      let options = ["-D", "\(directory)/\(name)", "-U", "tester", "--no-sync"]
      try await TestProcess.run(["\(Self.bin ?? "")/\(command[0])"] + command.dropFirst() + options, user: user)
    }

    /// Takes a backup while the server runs.
    func backUp() async throws { try await create("backup", with: copying) }

    /// Ends the server without warning, and starts it from the backup.
    func restore() async throws {
      try await end(with: SIGQUIT)
      try FileManager.default.removeItem(atPath: "\(directory)/data")
      try FileManager.default.moveItem(atPath: "\(directory)/backup", toPath: "\(directory)/data")
      try await start()
    }

    deinit {
      // Until its processes are gone, they write to the directory.
      process.withLock { $0 }?.finish(with: SIGQUIT)
      try? FileManager.default.removeItem(atPath: directory)
    }

    var connectionString: String { "host=127.0.0.1 port=\(port) user=tester dbname=postgres" }

    /// Starts the server and returns when it accepts connections.
    ///
    /// After a server was killed, no other one starts until the processes that it had started are gone.
    func start() async throws {
      var process: TestProcess?
      try await waitUntil("the server on port \(port) accepts connections") {
        if process?.isRunning != true { process = try launch() }
        return (try? await run("SELECT 1")) != nil
      }
    }

    /// Runs a statement, also on a standby.
    @discardableResult
    func run(_ sql: String) async throws -> PostgresRow? {
      let connection = PostgresPool(connectionString + " target_session_attrs=any", size: 1)
      return try await connection.run(sql, [], within: .seconds(30)).first
    }

    /// Mounts a file system for one program, with which it ends.
    private static func mounting(megabytes: Int, at directory: String) -> [String] {
      let mount = #"mount -t tmpfs -o size="$1"m none "$0" && chown postgres "$0" && shift && exec "$@""#
      return ["unshare", "--mount", "sh", "-c", mount, directory, "\(megabytes)"]
    }

    /// Whether this process may start a server with a small file system.
    static func canMount() async -> Bool {
      guard getuid() == 0 else { return false }
      let mount = "unshare --mount mount -t tmpfs none /mnt"
      return (try? await TestProcess.run(["sh", "-c", mount])) != nil
    }

    private func launch() throws -> TestProcess {
      let options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", directory]
      let command = ["\(Self.bin ?? "")/postgres", "-D", "\(directory)/data", "-p", "\(port)"] + options
      let process = try TestProcess(command, under: prefix, user: user, deathSignal: "QUIT")
      self.process.withLock { $0 = process }
      return process
    }

    /// Ends the server, without warning to its clients, with SIGQUIT or SIGKILL.
    func end(with signal: Int32) async throws {
      let process = self.process.withLock { $0 }
      process?.signal(signal)
      _ = try await process?.ended()
    }
  }
#endif
