// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// One operation, and how often it may call malloc or its kin.
struct AllocationForm: Sendable {
  let form: Form
  /// Nil for what is there for comparison.
  let limit: Double?
  let aim: Double?

  init(_ name: String, limit: Double? = nil, aim: Double? = nil, work: @escaping @Sendable (Int) async throws -> Void) {
    form = Form(name, work: work)
    self.limit = limit
    self.aim = aim
  }

  /// One of some forms, as it is: a call more would need memory of its own for the calling function.
  private init(_ name: String, of forms: [Form], as title: String? = nil, limit: Double? = nil, aim: Double? = nil) {
    let works = forms.filter { $0.name == name }.map(\.work)
    precondition(works.count == 1, "\(works.count) forms are named \(name)")
    self.init(title ?? name, limit: limit, aim: aim, work: works[0])
  }

  /// Chains have three steps, unless their names say otherwise.
  static var all: [AllocationForm] { ofRuns + ofModifiers + ofTheRest }

  private static var ofRuns: [AllocationForm] {
    let forms = Forms(.async, steps: 3).all
    return [
      AllocationForm(Forms.task, of: forms),
      AllocationForm(Forms.run, of: forms, limit: 6, aim: 5),
      AllocationForm(Forms.tokenTaken, of: forms, limit: 7, aim: 5),
      AllocationForm(Forms.tokenAround, of: forms, limit: 16, aim: 12),
      AllocationForm(Forms.start, of: forms, limit: 9, aim: 8),
    ]
  }

  private static var ofModifiers: [AllocationForm] {
    let chain = Bodies.async.chain(3)
    let closures = Bodies.async.closures(3)
    let serial = chain.overlap(.serial)
    let limited = chain.timeout(.seconds(5))
    let retried = chain.retry(RetryPolicy(maxAttempts: 3, backoff: .none))
    let zipped = Chain.zip(chain, chain)
    return [
      AllocationForm("overlap(.serial), run", limit: 6, aim: 6) { times in
        for _ in 0..<times { _ = try await serial.run(0) }
      },
      AllocationForm("timeout(.seconds(5)), run", limit: 31, aim: 17) { times in
        for _ in 0..<times { _ = try await limited.run(0) }
      },
      AllocationForm("a time limit by hand") { times in
        for _ in 0..<times { _ = try await HandLimitedRun().run(closures, 0, limit: .seconds(5)) }
      },
      AllocationForm("retry, first attempt succeeds", limit: 12, aim: 8) { times in
        for _ in 0..<times { _ = try await retried.run(0) }
      },
      AllocationForm("zip of two chains", limit: 37, aim: 24) { times in
        for _ in 0..<times { _ = try await zipped.run(0) }
      },
    ]
  }

  private static var ofTheRest: [AllocationForm] {
    let jobs = JobForms().all
    let steps = StepForms().all
    // Made once: what it holds is its own.
    let first = Count.first(of: 10)
    return [
      AllocationForm(StepForms.plain, of: steps, limit: 0, aim: 0),
      AllocationForm(StepForms.undone, of: steps, limit: 4, aim: 3),
      AllocationForm(JobForms.job, of: jobs, as: "job with two handlers, launch().value", limit: 15, aim: 14),
      AllocationForm("withResolver, resolved at once", limit: 3, aim: 2) { times in
        for number in 0..<times { _ = try await withResolver { $0.resolve(number) } as Int }
      },
      AllocationForm("10 steps, built and run", limit: 30, aim: 24) { times in
        for _ in 0..<times { _ = try await Bodies.async.chain(10).run(0) }
      },
      AllocationForm("10 steps by hand, built and run") { times in
        for _ in 0..<times {
          var path = HandPath { try await incremented($0) }
          for _ in 1..<10 { path = path.then { try await incremented($0) } }
          _ = try await path.run(0)
        }
      },
      AllocationForm("10 stages, run", limit: 0, aim: 0) { times in
        for _ in 0..<times { _ = try await first.run() }
      },
      AllocationForm("10 stages, stages", limit: 0, aim: 0) { times in
        for _ in 0..<times { for try await _ in first.stages {} }
      },
    ]
  }
}
