// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// 5,000 runs of three steps at once, as a server has them, and as many tasks in a group without cancellation by a token.
struct ConcurrencyForms {
  static let group = "5,000 tasks in a group"
  static let run = "5,000 runs in a group, token around"
  static let start = "5,000 runs started with a token, awaited"

  private static let count = 5_000

  let all: [Form]

  init() {
    let closures = Bodies.async.closures(3)
    let chain = Bodies.async.chain(3)
    let token = CancellationToken()
    all = [
      Form(Self.group) { times in
        for _ in 0..<times { try await Self.inGroup { try await looped(over: closures, 0) } }
      },
      Form(Self.run) { times in
        for _ in 0..<times {
          try await withCancellation(by: token) { try await Self.inGroup { try await chain.run(0) } }
        }
      },
      Form(Self.start) { times in
        for _ in 0..<times {
          let runs = (0..<Self.count).map { _ in chain.start(0, cancelledBy: token) }
          for run in runs {
            let output = try await run.value
            precondition(output == 3)
          }
        }
      },
    ]
  }

  private static func inGroup(_ operation: @escaping @Sendable () async throws -> Int) async throws {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<count { group.addTask { try await operation() } }
      for try await output in group { precondition(output == 3) }
    }
  }
}

extension FormBound {
  static let ofConcurrency = [
    FormBound(form: ConcurrencyForms.run, reference: ConcurrencyForms.group, limit: 2.9),
    FormBound(form: ConcurrencyForms.start, reference: ConcurrencyForms.group, limit: 2.0),
  ]
}

/// Prints the bounds of many runs at once and what is reached, and returns whether all are kept.
func checkConcurrencyBounds(effort: Effort) async throws -> Bool {
  print("\nBounds of runs at once")
  return try await check(FormBound.ofConcurrency, effort) { ConcurrencyForms().all }
}
