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

  /// What a child process notes of its stages, so that it can be told afterwards whether any was repeated or lost.
  ///
  /// Each note is one write to the end of the file `journal` of the workspace, which a kill does not undo.
  public struct CrashJournal: Sendable {
    /// A line of the journal.
    enum Line: Equatable {
      case run
      case saved(Int)
      case begun(Int)
    }

    private let path: String

    /// Opens the journal of a workspace.
    ///
    /// - Parameter workspace: The directory that `CrashHarness` gave to the child as its last argument.
    public init(workspace: String) {
      path = workspace + "/journal"
    }

    /// Notes that a stage was seen, and therefore is saved: call it for each element of `stages(id:in:)`.
    ///
    /// - Parameter stage: The stage's number; the first one is 0.
    public func saved(_ stage: Int) { append("saved \(stage)\n") }

    /// Notes that the work of a stage begins: call it in `next()`.
    ///
    /// - Parameter stage: The stage's number; the first one is 0.
    public func begun(_ stage: Int) { append("begun \(stage)\n") }

    /// Notes that a child is started.
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

    /// What is wrong with the journal of runs that were killed, and of a last one that came to its end.
    static func problems(in lines: [Line]) -> [String] {
      var problems: [String] = []
      /// The highest stage that is known to be saved, and the one whose work began last.
      var (saved, begun) = (-1, -1)
      var isFirstOfRun = true
      for line in lines {
        switch line {
        case .run:
          isFirstOfRun = true
        case .saved(let stage):
          if stage < saved || stage < begun {
            problems.append("stage \(max(saved, begun)) was lost; went on from \(stage)")
          }
          if stage > begun + 1 { problems.append("stage \(stage) was reached without stage \(stage - 1)") }
          if !isFirstOfRun, stage != saved + 1 { problems.append("stage \(stage) was seen after stage \(saved)") }
          saved = max(saved, stage)
          isFirstOfRun = false
        case .begun(let stage):
          if stage < saved { problems.append("stage \(stage) was repeated though stage \(saved) was saved") }
          if stage > saved { problems.append("stage \(stage) began before it was saved") }
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
