// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints

/// An order as a durable chain, with a ledger outside of the store: the child that is killed.
final class DurableOrder: Sendable {
  struct Declined: Error, Codable {
    let card: String
  }

  enum Direction: String {
    /// Everything succeeds.
    case success
    /// A step fails, and would succeed when it is repeated.
    case failure
    /// The code catches the error of a step, which would succeed when it is repeated.
    case caught
    /// The run is cancelled for good in its last step.
    case cancel
    /// Steps run in child tasks, and then one fails.
    case children
    /// The process receives SIGTERM, which cancels the task of the run.
    case terminate
  }

  let workspace: String
  let direction: Direction
  private let handle = Once<Run<String>>()
  /// Whether the process is told to terminate.
  private let isServer = Lock(false)

  init(_ workspace: String, _ direction: Direction) {
    self.workspace = workspace
    self.direction = direction
  }
}

extension DurableOrder {
  private var path: String { workspace + "/ledger" }

  /// Writes a line to the ledger, in one piece.
  private func note(_ line: String) {
    let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o666)
    guard file >= 0 else { exit(7) }
    let bytes = Array((line + "\n").utf8)
    guard write(file, bytes, bytes.count) == bytes.count else { exit(7) }
    close(file)
  }

  /// Fails the first time.
  private func fail(_ line: String, _ card: String) throws {
    let ledger = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let isFirst = !ledger.split(separator: "\n").contains { $0 == line + " fails" }
    note(isFirst ? line + " fails" : line)
    if isFirst { throw Declined(card: card) }
  }
}

extension DurableOrder {
  var chain: Chain<Int, String> {
    Chain("order") { (count: Int) in
      let goods = try await step("reserve") {
        self.note("reserve")
        return ["goods", "\(count)"]
      } undo: { (_: [String]) in
        self.note("release")
      }
      let card = try await self.charge()
      if self.direction == .children {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<3 {
            group.addTask {
              try await step("label \(number)") {
                self.note("label \(number)")
                return number
              } undo: { (number: Int) in
                self.note("unlabel \(number)")
              }
            }
          }
          try await group.waitForAll()
        }
      }
      for number in 0..<count {
        try await step("ship \(number)") {
          guard number == count - 1 else { return self.note("ship \(number)") }
          switch self.direction {
          case .failure, .children: try self.fail("ship \(number)", card)
          case .cancel:
            self.note("ship \(number)")
            await self.handle.value()?.cancel(reason: "customer")
            try await Task.sleep(for: .seconds(3_600))
          case .terminate:
            self.note("ship \(number)")
            if self.isServer.withLock({ $0 }) {
              kill(getpid(), SIGTERM)
              try await Task.sleep(for: .seconds(3_600))
            }
          case .success, .caught: self.note("ship \(number)")
          }
        }
      }
      return goods.joined(separator: " ") + " " + card
    }
  }

  private func charge() async throws -> String {
    func charge(_ card: String, _ body: @escaping @Sendable () throws -> Void) async throws -> String {
      try await step("charge \(card)") {
        try body()
        return card
      } undo: { (card: String) in
        self.note("refund \(card)")
      }
    }
    guard direction == .caught else { return try await charge("visa") { self.note("charge visa") } }
    do {
      return try await charge("visa") { try self.fail("charge visa", "visa") }
    } catch is Declined {
      return try await charge("master") { self.note("charge master") }
    }
  }

  /// Runs the order, and prints how it ended.
  func run() async throws {
    let store = try FileCheckpointStore(directory: URL(fileURLWithPath: workspace + "/store"))
    note("start")
    if direction == .terminate {
      let chain = chain
      isServer.withLock { $0 = true }
      // A server that cancels its tasks when it is told to stop, and is started again.
      _ = try? await withTerminationSignals { try await chain.run(2, id: "order/1", in: store) }
      note("start")
      isServer.withLock { $0 = false }
    }
    let run = chain.start(2, id: "order/1", in: store)
    handle.settle(run)
    let line: String
    switch await run.outcome {
    case .resolved(let value): line = "done \(value)"
    case .failed(let error): line = "failed \(error)"
    case .cancelled(let cancellation): line = "cancelled \(cancellation.reason ?? "")"
    }
    guard try await chain.unfinished(in: store).isEmpty else { exit(8) }
    note("end \(line)")
    print(line)
  }
}
