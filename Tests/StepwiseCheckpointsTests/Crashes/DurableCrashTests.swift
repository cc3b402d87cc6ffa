// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Nothing is shared with a child that is killed, so ThreadSanitizer has nothing to find here.
#if (os(Linux) || os(macOS)) && !TSAN
  import CrashTesting
  import Foundation
  import StepwiseCheckpoints
  import StepwiseTesting
  import Testing

  /// Children that run an order as a durable chain are killed, and what they did is in a ledger outside of the store.
  @Suite(.timeLimit(.minutes(20)), .serialized) struct DurableCrashTests {
    static let directions = ["success", "failure", "caught", "cancel", "children", "terminate"]

    #if os(Linux)
      // G141
      @Test(arguments: directions)
      func `A crash at any file system call loses nothing`(direction: String) async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let report = try await harness(direction, directory).killAtEveryCall()
        #expect(report.problems == [])
        #expect(report.kills == report.calls)
        #expect(report.kills > 40, "a child was killed at \(report.kills) calls")
      }

      // G141
      /// The ledger counts, too: a process dies before and after each effect and undo.
      @Test(arguments: [("failure", true), ("cancel", false)])
      func `A crash at any effect loses nothing`(direction: String, torn: Bool) async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let report = try await harness(direction, directory).killAtEveryCall(torn: torn, under: torn ? "/store" : "/")
        #expect(report.problems == [])
        #expect(report.kills > 40, "a child was killed at \(report.kills) calls")
      }
    #endif

    // G141
    @Test(arguments: directions)
    func `A crash at any instant loses nothing`(direction: String) async throws {
      let directory = try TemporaryDirectory(inMemory: true)
      let report = try await harness(direction, directory).killAtRandom(kills: kills, seed: 7)
      #expect(report.problems == [])
      #expect(report.kills >= kills)
    }

    /// More where the environment asks for them.
    private var kills: Int { ProcessInfo.processInfo.environment["STEPWISE_KILLS"].flatMap(Int.init) ?? 12 }

    private func harness(_ direction: String, _ directory: TemporaryDirectory) throws -> CrashHarness {
      CrashHarness(program: try crashChild(), arguments: ["0", direction], workspaces: directory.url.path) {
        workspace,
        output in
        let ledger = (try? String(contentsOfFile: workspace + "/ledger", encoding: .utf8)) ?? ""
        return OrderLedger(ledger.split(separator: "\n").map(String.init), direction).problems(output: output)
      }
    }

    @Test func `The ledger finds violations`() {
      func problems(_ text: String, _ direction: String = "failure") -> [String] {
        let lines = text.split(separator: ",").map(String.init)
        let end = lines.last.map { $0.hasPrefix("end ") ? $0.dropFirst(4) : "" } ?? ""
        return OrderLedger(lines, direction).problems(output: end + "\n")
      }
      let begin = "start,reserve,charge visa,ship 0,"
      #expect(problems(begin + "ship 1 fails,refund visa,release,end failed") == [])
      #expect(problems(begin + "ship 1 fails,start,ship 1,end done") == [])
      #expect(problems(begin + "ship 1 fails,refund visa,start,ship 1,end done") != [])
      #expect(problems(begin + "ship 1 fails,refund visa,release,end done") != [])
      #expect(problems(begin + "ship 1 fails,refund visa,end failed") != [])
      #expect(problems(begin + "ship 0,ship 1,end done") != [])
      #expect(problems("start,reserve,charge visa,ship 0,start,charge visa,ship 0,ship 1,end done") != [])
      #expect(problems("start,reserve,charge visa fails,charge master,start,charge visa,ship 0,ship 1,end done") != [])
      #expect(problems("start,reserve,charge visa,ship 1,end done") != [])
      let labels = "start,reserve,charge visa,label 1,label 0,label 2,start,label 0,start,label 0,label 1,"
      #expect(problems(labels + "label 2,ship 0,ship 1,end done", "children") == [])
      #expect(problems(labels + "charge visa,label 2,ship 0,ship 1,end done", "children") != [])
      #expect(problems(begin + "start,release,refund visa,end cancelled", "cancel") != [])
    }
  }

  /// What a child did, over all of its processes.
  struct OrderLedger {
    /// The lines of each process.
    private let processes: [[String]]
    private let direction: String

    init(_ lines: [String], _ direction: String) {
      processes = lines.split(separator: "start", omittingEmptySubsequences: false).dropFirst().map { Array($0) }
      self.direction = direction
    }

    private static func isUndo(_ line: String) -> Bool {
      ["refund", "release", "unlabel"].contains { line.hasPrefix($0) }
    }

    func problems(output: String) -> [String] {
      var problems: [String] = []
      // So many steps are in progress at once.
      let width = direction == "children" ? 3 : 1
      var first: [String] = []
      for process in processes {
        // A process may die before it has repeated all of them.
        let inProgress = first.suffix(width)
        for (position, line) in process.enumerated() where !line.hasPrefix("end ") {
          guard first.contains(line) else {
            first.append(line)
            continue
          }
          if position >= width || !inProgress.contains(line) {
            problems.append("\(line) was repeated though it was not in progress")
          }
        }
      }
      problems += order(first)
      let end = processes.last?.last ?? ""
      if "\(end)\n" != "end " + output { problems.append("the result is \(output), and the ledger ends with \(end)") }
      if processes.joined().count(where: { $0.hasPrefix("end ") && $0 != end }) > 0 {
        problems.append("the run ended in two ways")
      }
      let undone = first.filter(Self.isUndo)
      if end.hasPrefix("end done") {
        if !undone.isEmpty { problems.append("the order was completed, and \(undone) was undone") }
      } else {
        let missing = first.compactMap(Self.undo).filter { !undone.contains($0) }
        if !missing.isEmpty { problems.append("the order ended with \(end) and without \(missing)") }
      }
      if first.contains("charge visa"), first.contains("charge master") { problems.append("both cards were charged") }
      return problems.map { "\($0): \(processes)" }
    }

    /// The undo of an effect.
    private static func undo(_ line: String) -> String? {
      if line == "reserve" { return "release" }
      if line.hasSuffix("fails") { return nil }
      if line.hasPrefix("charge ") { return "refund " + line.dropFirst(7) }
      return line.hasPrefix("label ") ? "un" + line : nil
    }

    private func order(_ lines: [String]) -> [String] {
      var problems: [String] = []
      var (last, lastLine, hasUndone) = (0, "", false)
      for line in lines {
        let rank = rank(line)
        if rank < last { problems.append("\(line) came after \(lastLine)") }
        let isSkipped = rank > last + 1 && !hasUndone && !(Self.isUndo(line) || direction == "children")
        if isSkipped { problems.append("\(line) came right after \(lastLine)") }
        hasUndone = hasUndone || Self.isUndo(line)
        (last, lastLine) = (rank, line)
      }
      return problems
    }

    private func rank(_ line: String) -> Int {
      switch line {
      case "reserve": 1
      case "charge visa", "charge visa fails", "charge master": 2
      case "ship 0": direction == "children" ? 4 : 3
      case "ship 1", "ship 1 fails": direction == "children" ? 5 : 4
      case "refund visa", "refund master": 7
      case "release": 8
      default: line.hasPrefix("label") ? 3 : 6
      }
    }
  }
#endif
