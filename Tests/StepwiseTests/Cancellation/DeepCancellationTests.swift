// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Runs that are nested thousands deep, on 512 KiB, when something reaches all of them.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct DeepCancellationTests {
  enum Source: CaseIterable, Sendable { case task, cancelRuns, token, tokenAround, escalation }

  // G18, G23
  @Test(arguments: Source.allCases, [false, true])
  func `A chain that awaits itself 8,000 deep is reached without recursion`(source: Source, isRead: Bool) async throws {
    let depth = 8_000
    let result = try await onASmallStack {
      let own = Watched<Chain<Int, Int>?>(nil)
      let outermost = Watched<Task<Int?, Never>?>(nil)
      let token = CancellationToken()
      let ends = Watched(0)
      let chain = Chain("down") { (number: Int) -> Int in
        guard let own = own.read({ $0 }) else { throw Fault(0) }
        if number == 0 {
          switch source {
          case .task: outermost.read { $0 }?.cancel()
          case .cancelRuns: own.cancelRuns(reason: "stop")
          case .token: own.cancellationToken.cancel(reason: "stop")
          case .tokenAround: token.cancel(reason: "stop")
          case .escalation:
            outermost.read { $0 }?.escalatePriority(to: .high)
            return 0
          }
          await CancellationToken().waitForCancellation()
          throw CancellationError()
        }
        return try await own.run(number - 1) + 1
      }
      .finally { _ in ends.mutate { $0 += 1 } }
      own.mutate { $0 = chain }
      if isRead { _ = chain.cancellationToken }
      defer { own.mutate { $0 = nil } }
      return try onThisThread {
        let task = spawn { () async -> Int? in
          guard source == .tokenAround else { return try? await chain.run(depth) }
          return try? await withCancellation(by: token) { try await chain.run(depth) }
        }
        outermost.mutate { $0 = task }
        let value = await task.value
        return "\(value.map { "\($0)" } ?? "cancelled"), \(ends.read { $0 }) ends"
      }
    }
    #expect(result == "\(source == .escalation ? "\(depth)" : "cancelled"), \(depth + 1) ends")
  }
}
