// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Synchronization

/// The forms in which background work can tell the main actor that it begins and that it has ended.
struct JobForms: Sendable {
  static let task = "(f) Task and two main-actor hops"
  static let job = "job, start and finish"
  static let updates = "job, start, ten updates and finish"
  static let updatesByHand = "start, ten updates and finish by hand"
  static let silent = "job without handlers"

  let all: [Form]

  init() {
    let queue = JobQueue(maxConcurrent: 1)
    let silent = Job("silent") { (number: Int) in await added(number) }
    let job = silent.onStart { reported() }.onFinish { _ in reported() }
    let updating = Job("updating") { (number: Int, job: JobContext<Int>) in
      for number in 0..<10 { job.update(number) }
      return await added(number)
    }.onStart { reported() }.onUpdate { _ in reported() }.onFinish { _ in reported() }
    all = [
      Form(Self.task) { times in
        for number in 0..<times {
          let task = Task {
            await MainActor.run { reported() }
            let result = await added(number)
            await MainActor.run { reported() }
            return result
          }
          check(await task.value, number + 1)
        }
      },
      Form(Self.job) { times in
        for number in 0..<times { check(try await job.launch(number, on: queue).value, number + 1) }
      },
      Form(Self.updates) { times in
        for number in 0..<times { check(try await updating.launch(number, on: queue).value, number + 1) }
      },
      Form(Self.updatesByHand) { times in
        for number in 0..<times { check(await HandJob().run(number), number + 1) }
      },
      Form(Self.silent) { times in
        for number in 0..<times { check(try await silent.launch(number, on: queue).value, number + 1) }
      },
    ]
  }
}

/// What a job with handlers does, for these calls alone: they are made on the main actor in order, while the work goes on, and
/// by one task for all that have gathered.
private final class HandJob: Sendable {
  private let state = Mutex<(calls: [Int], isCalling: Bool)>(([], false))

  func run(_ number: Int) async -> Int {
    call(-1)
    let task = Task {
      for update in 0..<10 { self.call(update) }
      let result = await added(number)
      await self.finish()
      return result
    }
    return await task.value
  }

  private func call(_ number: Int) {
    let isFirst = state.withLock { state in
      state.calls.append(number)
      return !exchange(&state.isCalling, with: true)
    }
    if isFirst { Task { @MainActor in self.makeCalls() } }
  }

  @MainActor private func makeCalls() {
    while let calls = takeCalls() {
      for _ in calls { reported() }
    }
  }

  @MainActor private func finish() {
    makeCalls()
    reported()
  }

  private func takeCalls() -> [Int]? {
    state.withLock { state in
      state.isCalling = !state.calls.isEmpty
      return state.calls.isEmpty ? nil : exchange(&state.calls, with: [])
    }
  }
}

/// Prints the bound of jobs and what is reached, the median of three runs, and returns whether it is kept.
func checkJobBounds(effort: Effort) async throws -> Bool {
  print("\nThresholds of jobs")
  let bounds = [
    FormBound(form: JobForms.job, reference: JobForms.task, limit: 1.4),
    FormBound(form: JobForms.updates, reference: JobForms.task, limit: 1.32),
  ]
  let forms = JobForms().all
  let measurement = try await Measurement(of: forms, effort: effort)
  for form in forms { print("\(form.name): \(duration(measurement[form.name].time))") }
  let bounded = [JobForms.job, JobForms.updates, JobForms.task]
  return try await check(bounds, effort) { forms.filter { bounded.contains($0.name) } }
}

/// Prints how much memory very many jobs take, and returns whether the bounds are kept.
func checkJobMemory() async throws -> Bool {
  print("\nMemory of jobs")
  let queue = JobQueue(maxConcurrent: 1)
  let job = Job("job") { (number: Int) in await added(number) }
  let isFlat = try await grows(by: 8 << 20, "100,000 jobs through one queue") {
    for _ in 0..<1_000 {
      let runs: [Run<Int>] = (0..<100).map { job.launch($0, on: queue) }
      for run in runs { _ = try await run.value }
    }
  }
  queue.suspend()
  var runs: [Run<Int>] = []
  let isSmall = await grows(by: 100_000 * 8_192, "100,000 jobs that wait") {
    runs = (0..<100_000).map { job.launch($0, on: queue) }
  }
  let isFree = await grows(by: 100_000 * 1_024, "100,000 jobs that wait are cancelled") {
    let time = ContinuousClock().measure { queue.cancelAll() }
    print("cancelled in \(duration(time / .nanoseconds(1)))")
    for run in runs { _ = await run.outcome }
  }
  return isFlat && isSmall && isFree
}

@inline(never)
private func added(_ number: Int) async -> Int { number + 1 }

@MainActor @inline(never)
private func reported() {}

private func check(_ result: Int, _ expected: Int) {
  precondition(result == expected, "the job gave \(result) instead of \(expected)")
}
