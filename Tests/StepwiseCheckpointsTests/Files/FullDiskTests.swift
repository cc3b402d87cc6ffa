// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseTesting
  import Testing

  /// What can be done where nothing can be written.
  @Suite(.timeLimit(.minutes(10))) struct FullDiskTests {
    // G114
    /// The child fills its disk, then uses a store on it.
    @Test(
      .enabled(if: PrivateMount.isPossible, "needs namespaces"),
      arguments: ["blocks", "files"]
    )
    func `On a full disk finished ids are returned and every id can be removed`(of what: String) throws {
      let directory = try TemporaryDirectory()
      let path = directory.url.path
      let text = try #require(try PrivateMount.megabyte(path).run(try crashChild(), ["2", "full-\(what)", path]))
      #expect(
        text.split(separator: "\n") == [
          "done: 3", "begun: errno \(ENOSPC)", "new: errno \(ENOSPC)", "locks: fence", "removed begun", "removed done",
          "removed other", "left: ", "locks: fence",
          // Space was freed.
          "again: 3",
        ]
      )
    }

    @Test(.enabled(if: PrivateMount.isPossible, "needs namespaces"))
    func `On a full disk an id that is held is not removed`() throws {
      let directory = try TemporaryDirectory()
      let path = directory.url.path
      let text = try #require(try PrivateMount.megabyte(path).run(try crashChild(), ["2", "full-held", path]))
      #expect(text.split(separator: "\n") == ["held", "kept: 1"])
    }

    /// Whether files can be made immutable here.
    private static let canMakeImmutable = {
      guard let directory = try? TemporaryDirectory() else { return false }
      defer { setImmutable(false, directory.url.path) }
      return setImmutable(true, directory.url.path)
    }()

    @discardableResult
    private static func setImmutable(_ isImmutable: Bool, _ path: String) -> Bool {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["chattr", isImmutable ? "+i" : "-i", path]
      process.standardError = FileHandle.nullDevice
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }

    @Test(.enabled(if: canMakeImmutable, "needs chattr +i"))
    func `Where no lock file may be made, it is as on a full disk`() async throws {
      let directory = try TemporaryDirectory()
      let store = try FileCheckpointStore(directory: directory.url)
      #expect(try await Count.at(0).run(id: "done", in: store) == "three")
      for try await _ in Count.at(0).stages(id: "begun", in: store) { break }
      let locks = directory.url.path + "/.locks"
      try #require(Self.setImmutable(true, locks))
      defer { Self.setImmutable(false, locks) }
      #expect(try await Count.at(0).run(id: "done", in: store) == "three")
      let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "begun", in: store) }
      guard case .io("begun", _, "open", EPERM) = error else {
        Issue.record("it is \(String(describing: error))")
        return
      }
      for id in ["done", "begun"] { try await store.remove(id) }
      #expect(try await store.list(after: nil, limit: 10).ids == [])
    }

    /// Refuses leases as an operating system does.
    private struct Refusing: ForwardingStore {
      let base: any CheckpointStore
      let code: Int32
      @concurrent func acquire(_ id: String) async throws -> CheckpointLease {
        throw CheckpointError.io(id: id, location: "memory", operation: "open", errno: code)
      }
    }

    @Test(arguments: [
      ENOSPC, EDQUOT, EPERM, EROFS, EACCES, EIO,
    ]
    )
    func `A finished id is returned whatever keeps its lease from being written`(code: Int32) async throws {
      let base = MemoryCheckpointStore()
      _ = try await Count.at(0).run(id: "done", in: base)
      let result = try? await Count.at(0).run(id: "done", in: Refusing(base: base, code: code))
      // An error of the device must not end a run that only reads.
      #expect(result == (code == EIO ? nil : "three"))
    }
  }
#endif
