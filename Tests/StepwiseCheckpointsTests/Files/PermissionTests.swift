// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseTesting
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct PermissionTests {
    /// The modes of all files below a directory, by their paths; each test in a process with a mask of its own.
    private static func modes(below directory: URL) throws -> [String: UInt16] {
      var modes: [String: UInt16] = [:]
      for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
        var status = stat()
        try #require(lstat(directory.path + "/" + path, &status) == 0)
        modes[path] = UInt16(status.st_mode & 0o7777)
      }
      return modes
    }

    // G115
    @Test
    func `Only their owner can read checkpoints`() async {
      await #expect(processExitsWith: .success) {
        umask(0)
        let directory = try TemporaryDirectory()
        let store = try FileCheckpointStore(directory: directory.url.appendingPathComponent("a/b"))
        // What an older version left after a kill.
        let left = directory.url.path + "/a/b/left.temporary"
        try #require(
          FileManager.default.createFile(atPath: left, contents: Data([1]), attributes: [.posixPermissions: 0o644])
        )
        _ = try await Count.at(0).run(id: "left", in: store)
        let lease = try await store.acquire("held")
        let modes = try PermissionTests.modes(below: directory.url)
        guard
          modes == [
            "a": 0o700, "a/b": 0o700, "a/b/.locks": 0o700, "a/b/.locks/fence": 0o600, "a/b/.locks/held.lock": 0o600,
            "a/b/left.checkpoint": 0o600,
          ]
        else { fatalError("\(modes)") }
        try await store.release(lease)
      }
    }

    @Test
    func `A save gives older files the permissions of the group`() async {
      await #expect(processExitsWith: .success) {
        umask(0)
        let directory = try TemporaryDirectory()
        let url = directory.url.appendingPathComponent("a")
        for try await _ in Count.at(0).stages(id: "x", in: try FileCheckpointStore(directory: url)) { break }
        let store = try FileCheckpointStore(directory: url, permissions: .group)
        let before = try PermissionTests.modes(below: url)["x.checkpoint"]
        _ = try await Count.at(0).run(id: "x", in: store)
        let modes = try PermissionTests.modes(below: url)
        guard before == 0o600, modes["x.checkpoint"] == 0o660 else { fatalError("\(modes)") }
        let made = try FileCheckpointStore(directory: url.appendingPathComponent("b"), permissions: .group)
        guard try PermissionTests.modes(below: url)["b"] == 0o770 else { fatalError("\(made.directory)") }
      }
    }
  }
#endif
