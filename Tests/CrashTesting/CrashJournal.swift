// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A record of a child process's stages, from which repeated and lost stages are detected afterwards.
  ///
  /// Each entry is one write to the end of the file `journal` of the workspace, which survives a kill.
  package struct CrashJournal: Sendable {
    /// A line of the journal.
    enum Line: Equatable {
      case run
      case saved(Int)
      case begun(Int)
    }

    private let path: String

    /// Opens the journal of a workspace.
    ///
    /// - Parameter workspace: The directory that `CrashHarness` passed to the child as its last argument.
    package init(workspace: String) {
      path = workspace + "/journal"
    }

    /// Records that a stage was received, and therefore is saved; call it for each element of `stages(id:in:)`.
    ///
    /// - Parameter stage: The stage's number; the first one is 0.
    package func saved(_ stage: Int) { append("saved \(stage)\n") }

    /// Records that the work of a stage starts; call it in `next()`.
    ///
    /// - Parameter stage: The stage's number; the first one is 0.
    package func begun(_ stage: Int) { append("begun \(stage)\n") }

    /// Records that a child is started.
    func run() { append("run\n") }

    var lines: [Line] {
      read().split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ")
        let number = words.last.flatMap { Int($0) } ?? -1
        return switch words.first {
        case "run": .run
        case "saved": .saved(number)
        case "begun": .begun(number)
        default: nil
        }
      }
    }

    /// Returns the problems in the journal of killed runs and a last one that completed.
    static func problems(in lines: [Line]) -> [String] {
      var problems: [String] = []
      /// The highest stage that is known to be saved, and the one whose work started last.
      var (saved, begun) = (-1, -1)
      var isFirstOfRun = true
      for line in lines {
        switch line {
        case .run:
          isFirstOfRun = true
        case .saved(let stage):
          if stage < saved || stage < begun {
            problems.append("stage \(max(saved, begun)) was lost; resumed from \(stage)")
          }
          if stage > begun + 1 { problems.append("stage \(stage) was reached without stage \(stage - 1)") }
          if !isFirstOfRun, stage != saved + 1 { problems.append("stage \(stage) was seen after stage \(saved)") }
          saved = max(saved, stage)
          isFirstOfRun = false
        case .begun(let stage):
          if stage < saved { problems.append("stage \(stage) was repeated though stage \(saved) was saved") }
          if stage > saved { problems.append("stage \(stage) started before it was saved") }
          begun = max(begun, stage)
        }
      }
      return problems
    }

    private func append(_ line: String) {
      let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else { return }
      var line = line
      line.withUTF8 { bytes in _ = write(descriptor, bytes.baseAddress, bytes.count) }
      close(descriptor)
    }

    private func read() -> String { ChildProcess.content(of: path) }
  }
#endif
