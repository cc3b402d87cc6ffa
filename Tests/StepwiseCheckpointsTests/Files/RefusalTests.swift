// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// What happens when the operating system refuses: each test in a process of its own, which limits itself.
@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
  /// Grows: the second stage is larger than the file-size limit.
  enum Growing: Progression, Codable {
    case small, large([Int]), done
    var result: Int? { if case .done = self { 1 } else { nil } }
    @concurrent func next() async throws -> Growing {
      switch self {
      case .small: .large(Array(0..<20_000))
      case .large: .done
      case .done: try completed()
      }
    }
  }

  #if os(Linux) || os(macOS)
    // G114
    @Test func `A full disk is an error and leaves the checkpoint intact`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let store = try FileCheckpointStore(directory: directory.url)
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit()
        try #require(getrlimit(limitOfFiles, &limit) == 0)
        let old = limit.rlim_cur
        limit.rlim_cur = 16_384
        try #require(setrlimit(limitOfFiles, &limit) == 0)
        do {
          _ = try await Growing.small.run(id: "a", in: store)
          exit(3)
        } catch CheckpointError.io("a", let location, "write", EFBIG) {
          guard location.hasPrefix(directory.url.path) else { exit(4) }
        }
        // Half of a stage is not left behind, and the stage before is there.
        guard try directory.names == ["a.checkpoint"], try await store.load("a")?.version == 1 else { exit(5) }
        limit.rlim_cur = old
        try #require(setrlimit(limitOfFiles, &limit) == 0)
        guard try await Growing.small.run(id: "a", in: store) == 1 else { exit(6) }
      }
    }

    @Test
    func `A read-only directory is an error that leaves checkpoints intact`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let store = try FileCheckpointStore(directory: directory.url)
        for try await _ in Growing.small.stages(id: "a", in: store) { break }
        // The locks may be taken, but nothing may be saved.
        let locks = directory.url.path + "/.locks"
        guard chmod(locks, 0o777) == 0, chmod(locks + "/fence", 0o666) == 0, chmod(directory.url.path, 0o555) == 0,
          chmod(directory.url.path + "/a.checkpoint", 0o644) == 0,
          // Who may do everything is refused nothing.
          getuid() != 0 || setuid(65_534) == 0
        else { exit(3) }
        do {
          _ = try await Growing.small.run(id: "a", in: store)
          exit(4)
        } catch CheckpointError.io("a", let location, "open", EACCES) {
          guard location == directory.url.path + "/a.temporary" else { exit(5) }
        }
        guard try await store.load("a")?.version == 1 else { exit(6) }
        guard try await store.list(after: nil, limit: 1).ids == ["a"] else { exit(7) }
      }
    }

    @Test func `A reader without write access gets only finished results`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let store = try FileCheckpointStore(directory: directory.url)
        _ = try await Growing.small.run(id: "done", in: store)
        for try await _ in Growing.small.stages(id: "begun", in: store) { break }
        let locks = directory.url.path + "/.locks"
        guard chmod(locks, 0o555) == 0, chmod(locks + "/fence", 0o444) == 0, chmod(directory.url.path, 0o555) == 0,
          chmod(directory.url.path + "/done.checkpoint", 0o644) == 0,
          chmod(directory.url.path + "/begun.checkpoint", 0o644) == 0,
          getuid() != 0 || setuid(65_534) == 0
        else { exit(3) }
        guard try await Growing.small.run(id: "done", in: store) == 1 else { exit(4) }
        var stages = 0
        for try await stage in Growing.small.stages(id: "done", in: store) where stage.result == 1 { stages += 1 }
        guard stages == 1 else { exit(5) }
        for id in ["begun", "new"] {
          do {
            _ = try await Growing.small.run(id: id, in: store)
            exit(6)
          } catch CheckpointError.io(id, _, "open", EACCES) {}
        }
        // Of another progression nothing is said to be the result.
        do {
          _ = try await Count.at(0).run(id: "done", in: store)
          exit(7)
        } catch CheckpointError.foreignType {}
      }
    }
  #endif

  #if os(Linux)
    @Test(.enabled(if: PrivateMount.isPossible, "needs namespaces"))
    func `A read-only file system is reported as such`()
      async throws
    {
      let directory = try TemporaryDirectory()
      let path = directory.url.path
      let child = Process()
      child.executableURL = URL(fileURLWithPath: try crashChild())
      child.arguments = ["2", path]
      child.standardOutput = FileHandle.nullDevice
      try child.run()
      child.waitUntilExit()
      let text = try #require(try PrivateMount.readOnly(path).run(try crashChild(), ["2", "read", path]))
      let lines = text.split(separator: "\n")
      try #require(lines.count == 4, "\(text)")
      #expect(lines[0].contains("sum/0") && lines[0].hasSuffix("(errno \(EROFS))"))
      #expect(lines[1] == "3")
      for line in lines[2...] {
        #expect(line == "checkpoints at \(path)/new: mkdir failed: Read-only file system (errno \(EROFS))")
      }
    }
  #endif
}

#if os(Linux)
  private let limitOfFiles = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
#else
  private let limitOfFiles = RLIMIT_FSIZE
#endif
