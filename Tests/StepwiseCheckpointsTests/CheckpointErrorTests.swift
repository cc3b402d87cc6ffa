// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints
import Testing

/// What errors say: the id, the place, the cause, and what to do.
@Suite(.timeLimit(.minutes(10))) struct CheckpointErrorTests {
  private func text(_ make: (String, String) -> CheckpointError) -> String {
    let text = "\(make("a", "/b/a.checkpoint"))"
    let prefix = "checkpoint \"a\" at /b/a.checkpoint: "
    #expect(text.hasPrefix(prefix))
    return String(text.dropFirst(prefix.count))
  }

  @Test func `Errors name the id, the path and the cause`() {
    let full = text { .io(id: $0, location: $1, operation: "write", errno: ENOSPC) }
    #expect(full == "write failed: No space left on device (errno \(ENOSPC))")
    let whole = CheckpointError.io(id: "", location: "/b", operation: "mkdir", errno: EROFS)
    #expect("\(whole)" == "checkpoints at /b: mkdir failed: Read-only file system (errno \(EROFS))")
  }

  @Test func `A holder is named`() {
    #expect(text { .held(id: $0, location: $1, processID: 1) }.hasPrefix("process 1 is running it"))
    #expect(text { .held(id: $0, location: $1, processID: getpid()) }.hasPrefix("this process is running it"))
    #expect(text { .held(id: $0, location: $1, processID: nil) }.hasPrefix("another process is running it"))
  }

  @Test func `A conflict says what is stored`() {
    let none = text { .conflict(id: $0, location: $1, expected: nil, found: 1) }
    #expect(none == "version 1 is stored instead of nothing")
    let gone = text { .conflict(id: $0, location: $1, expected: 2, found: nil) }
    #expect(gone == "nothing is stored instead of version 2")
  }

  @Test func `Errors say what to do`() {
    let advice: [(CheckpointError, String)] = [
      (.differentStart(id: "a", location: "b"), "start with that one, or use another id"),
      (.held(id: "a", location: "b", processID: 1), "await its completion or cancel it there, or use another id"),
      (.damaged(id: "a", location: "b", reason: "c"), "its bytes are kept"),
      (.foreignType(id: "a", location: "b", stored: "c", expected: "d"), "use another id, or declare progressionName"),
      (.newerFormat(id: "a", location: "b", format: 2, known: 1), "use the version that wrote it, or a later one"),
      (.ambiguousType(id: "a", location: "b", name: "c"), "conform one to VersionedProgression and declare another"),
      (.lostLease(id: "a", location: "b"), "run the id again to resume from the last saved stage"),
    ]
    for (error, words) in advice { #expect("\(error)".contains("; " + words)) }
  }
}
