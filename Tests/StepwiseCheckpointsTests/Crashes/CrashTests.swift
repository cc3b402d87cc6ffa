// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Nothing is shared with a child that is killed, so ThreadSanitizer has nothing to find here.
#if (os(Linux) || os(macOS)) && !TSAN
  import CrashTesting
  import Foundation
  import StepwiseCheckpoints
  import StepwiseTesting
  import Testing

  @Suite(.timeLimit(.minutes(10)), .serialized) struct CrashTests {
    #if os(Linux)
      // G102
      /// A torn write differs from a whole one alone, so that few stages show it.
      @Test(arguments: [(false, 12, 120), (true, 3, 30)])
      func `A crash at any file system call loses nothing`(torn: Bool, stages: Int, kills: Int) async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let report = try await harness(stages: stages, directory).killAtEveryCall(torn: torn)
        #expect(report.problems == [])
        #expect(report.kills == report.calls)
        #expect(report.kills >= kills, "a child was killed at \(report.kills) calls")
      }
    #endif

    // G102
    @Test func `A crash at any instant loses nothing`() async throws {
      let directory = try TemporaryDirectory(inMemory: true)
      let report = try await harness(stages: 40, directory).killAtRandom(kills: kills, seed: 1)
      #expect(report.problems == [])
      #expect(report.kills >= kills)
    }

    #if os(Linux)
      // G103
      @Test func `Every save is synced before and after its rename`() async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let calls = try await harness(stages: 1, directory).callsUndisturbed()
        let save = [
          "open sum%2f1.temporary", "pwrite sum%2f1.temporary", "fsync sum%2f1.temporary", "close sum%2f1.temporary",
          "rename sum%2f1.checkpoint", "open store", "fsync store", "close store",
        ]
        let starts = calls.indices.filter { calls[$0] == save[0] }
        #expect(starts.count == 3)
        for start in starts { #expect(Array(calls[start...].prefix(save.count)) == save) }
      }
    #endif

    #if os(Linux)
      @Test
      func `The directories above the store outlive a power failure, too`() async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let harness = CrashHarness(program: try crashChild(), arguments: ["1", "deep"], workspaces: directory.url.path)
        let calls = try await harness.callsUndisturbed()
        for (parent, name) in [("store", "a"), ("a", "b")] {
          // The last attempt is the one that succeeds.
          let made = try #require(calls.lastIndex(of: "mkdir \(name)"))
          #expect(
            Array(calls[made...].prefix(4)) == [
              "mkdir \(name)", "open \(parent)", "fsync \(parent)", "close \(parent)",
            ]
          )
        }
      }
    #endif

    #if os(Linux)
      @Test func `The path of the workspaces may be relative`() async {
        // Only a process of its own may go elsewhere.
        await #expect(processExitsWith: .success) {
          let directory = try TemporaryDirectory(inMemory: true)
          try #require(FileManager.default.changeCurrentDirectoryPath(directory.url.path))
          try FileManager.default.createDirectory(atPath: "work", withIntermediateDirectories: false)
          try FileManager.default.createSymbolicLink(atPath: "link", withDestinationPath: "work")
          let harness = CrashHarness(program: try crashChild(), arguments: ["1"], workspaces: "link/")
          let report = try await harness.killAtEveryCall()
          guard report.problems == [], report.kills == report.calls, report.kills > 20 else { exit(3) }
        }
      }

      @Test func `A child without a store is an error`() async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let harness = CrashHarness(
          program: try crashChild(),
          arguments: ["1", "careless"],
          workspaces: directory.url.path
        )
        let error = await #expect(throws: CrashHarnessError.self) { try await harness.killAtEveryCall() }
        #expect(error?.reason.contains("no call") == true)
      }
    #endif

    @Test func `Children are killed although they are faster than the first one`() async throws {
      let directory = try TemporaryDirectory(inMemory: true)
      let program = directory.url.path + "/child"
      try "#!/bin/sh\nmkdir \"$0.ran\" 2>/dev/null && sleep 2\nexec '\(try crashChild())' \"$@\"\n"
        .write(toFile: program, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
      let harness = CrashHarness(program: program, arguments: ["1"], workspaces: directory.url.path)
      let report = try await harness.killAtRandom(kills: 12, seed: 1)
      #expect(report.problems == [])
      #expect(report.kills >= 12)
    }

    @Test func `A child that forgets its state is found`() async throws {
      let directory = try TemporaryDirectory(inMemory: true)
      let harness = CrashHarness(
        program: try crashChild(),
        arguments: ["300", "careless"],
        workspaces: directory.url.path
      )
      let report = try await harness.killAtRandom(kills: 10, seed: 1)
      #expect(report.kills >= 10)
      #expect(!report.problems.isEmpty)
    }

    #if os(Linux)
      @Test(arguments: ["a b", "a:b"])
      func `A path that cannot be preloaded is refused, and says why`(name: String) async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let path = directory.url.path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let harness = CrashHarness(program: try crashChild(), arguments: ["1"], workspaces: path)
        for operation in [{ _ = try await harness.killAtEveryCall() }, { _ = try await harness.callsUndisturbed() }] {
          let error = await #expect(throws: CrashHarnessError.self) { try await operation() }
          #expect(error?.reason.contains("\(path), has a space or a colon") == true)
        }
        // Nothing is preloaded for this.
        #expect(try await harness.killAtRandom(kills: 1, seed: 1).problems == [])
      }
    #endif

    @Test
    func `A harness keeps its workspaces only when there are problems`() async {
      // In a process that has a directory of its own for temporary files.
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory(inMemory: true)
        setenv("TMPDIR", directory.url.path, 1)
        let report = try await CrashHarness(program: try crashChild(), arguments: ["5"]).killAtRandom(kills: 3, seed: 1)
        guard report.problems == [], report.workspaces == nil, try directory.names == [] else { exit(3) }
        let careless = CrashHarness(program: try crashChild(), arguments: ["300", "careless"])
        let kept = try await careless.killAtRandom(kills: 10, seed: 1).workspaces
        guard let kept, kept.hasPrefix(directory.url.path), try directory.names.count == 1 else { exit(4) }
        guard FileManager.default.fileExists(atPath: kept + "/random-1/journal") else { exit(5) }
      }
    }

    @Test
    func `A child receives the environment, and is killed if it hangs`() async throws {
      func harness(_ hangs: String) throws -> CrashHarness {
        CrashHarness(
          program: try crashChild(),
          arguments: ["5"],
          environment: ["CHILD_HANGS": hangs],
          timeLimit: .seconds(5)
        )
      }
      let error = await #expect(throws: CrashHarnessError.self) {
        try await harness("always").killAtRandom(kills: 1, seed: 1)
      }
      #expect(error?.reason.hasPrefix("the undisturbed child did not end within 5.0 seconds and was killed") == true)
      let report = try await harness("resumed").killAtRandom(kills: 1, seed: 1)
      let hung = report.problems.filter { $0.contains("the child did not end within 5.0 seconds and was killed") }
      #expect(!hung.isEmpty, "\(report.problems)")
      try report.workspaces.map { try FileManager.default.removeItem(atPath: $0) }
    }

    // G111
    @Test func `Another process holds an id until it exits`() async throws {
      let directory = try TemporaryDirectory()
      let child = Process()
      child.executableURL = URL(fileURLWithPath: try crashChild())
      child.arguments = ["3", "hold", directory.url.path]
      let (output, input) = (Pipe(), Pipe())
      child.standardOutput = output
      child.standardInput = input
      try child.run()
      #expect(output.fileHandleForReading.readData(ofLength: 5) == Data("held\n".utf8))
      let store = try FileCheckpointStore(directory: directory.url.appendingPathComponent("store"))
      let error = await #expect(throws: CheckpointError.self) { try await store.acquire("sum/1") }
      guard case .held("sum/1", store.location(of: "sum/1"), child.processIdentifier) = error else {
        Issue.record("it is \(String(describing: error))")
        return
      }
      // A held id can still be loaded.
      #expect(try await store.load("sum/1")?.version == 1)
      kill(child.processIdentifier, SIGKILL)
      child.waitUntilExit()
      #expect(child.terminationReason == .uncaughtSignal)
      try await store.release(try await store.acquire("sum/1"))
    }

    // G112
    @Test
    func `An id held at a fork stays held until both processes have ended`() async throws {
      let directory = try TemporaryDirectory()
      let parent = Process()
      parent.executableURL = URL(fileURLWithPath: try crashChild())
      parent.arguments = ["3", "fork", directory.url.path]
      let output = Pipe()
      parent.standardOutput = output
      try parent.run()
      var line = Data()
      while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
      let child = try #require(pid_t(String(decoding: line, as: UTF8.self)))
      defer { kill(child, SIGKILL) }
      // Not `waitUntilExit()`, which waits for the child, too: it inherits what tells Foundation of the end.
      var status: Int32 = 0
      #expect(waitpid(parent.processIdentifier, &status, 0) == parent.processIdentifier)
      let store = try FileCheckpointStore(directory: directory.url.appendingPathComponent("store"))
      let error = await #expect(throws: CheckpointError.self) { try await store.acquire("sum/1") }
      guard case .held("sum/1", _, _) = error else {
        Issue.record("it is \(String(describing: error))")
        return
      }
      kill(child, SIGKILL)
      // The parent is gone: the system, and not this test, waits for the child and releases its locks.
      var lease = try? await store.acquire("sum/1")
      while lease == nil, !Task.isCancelled {
        await Task.yield()
        lease = try? await store.acquire("sum/1")
      }
      try await store.release(try #require(lease))
    }

    /// How often a child is killed at random: 150 times, or a tenth of `STEPWISE_ROUNDS` if that is more.
    private var kills: Int {
      max(150, (ProcessInfo.processInfo.environment["STEPWISE_ROUNDS"].flatMap(Int.init) ?? 0) / 10)
    }

    private func harness(stages: Int, _ directory: TemporaryDirectory) throws -> CrashHarness {
      CrashHarness(program: try crashChild(), arguments: ["\(stages)"], workspaces: directory.url.path)
    }
  }
#endif
