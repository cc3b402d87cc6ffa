// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import Stepwise

/// Very many jobs, each test in a separate process, whose memory is measured.
@Suite(.timeLimit(.minutes(5)))
struct JobMemoryTests {
  #if os(Linux) || os(macOS)
    @Test func `Many jobs through one queue take no more memory than a few`() async {
      await #expect(processExitsWith: .success) {
        let (queue, job) = (JobQueue(maxConcurrent: 4), JobMemoryTests.job)
        func launch(_ count: Int) async throws {
          for _ in 0..<count / 100 {
            let runs: [Run<Int>] = (0..<100).map { job.launch($0, on: queue) }
            for run in runs { _ = try await run.value }
          }
        }
        try await launch(2_000)
        let before = peakMemory()
        try await launch(JobMemoryTests.many)
        let growth = peakMemory() - before
        guard growth < 16 << 20 else { throw Grown(bytes: growth) }
      }
    }

    @Test func `Many waiting jobs are cancelled together in constant memory`() async {
      await #expect(processExitsWith: .success) {
        let (queue, job) = (JobQueue(maxConcurrent: 1), JobMemoryTests.job)
        queue.suspend()
        func cancel(_ count: Int) async -> (Duration, perJob: Int) {
          let before = peakMemory()
          let runs: [Run<Int>] = (0..<count).map { job.launch($0, on: queue) }
          let waiting = peakMemory()
          let start = processorTime()
          queue.cancelAll()
          let time = processorTime() - start
          for run in runs where await run.outcome.cancellation == nil { exit(3) }
          let growth = peakMemory() - waiting
          // What it takes that they all wake up and end at once.
          guard growth / count < 8_192 else { exit(4) }
          return (time, (waiting - before) / count)
        }
        let (few, _) = await cancel(JobMemoryTests.many / 10)
        let (many, perJob) = await cancel(JobMemoryTests.many)
        // Ten times as many take about ten times the processors' time; if it were quadratic, a hundred times.
        guard many < max(few * 40, .milliseconds(200)) else { exit(5) }
        guard perJob < (_isDebugAssertConfiguration() ? 16_384 : 8_192) else { exit(6) }
        queue.resume()
        guard try await job.launch(1, on: queue).value == 1 else { exit(7) }
      }
    }
  #endif

  private static let job = Job("job") { (number: Int) in number }

  /// In debug builds fewer, which show as well whether it grows; the benchmarks launch 100,000.
  private static var many: Int { _isDebugAssertConfiguration() ? 10_000 : 100_000 }
}

private struct Grown: Error {
  let bytes: Int
}

/// The time that the processors spent on this process, which does not depend on what else the machine does.
private func processorTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// The peak resident memory of this process, in bytes, where the system reports it.
private func peakMemory() -> Int {
  guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
    let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM") }),
    let kilobytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
  else { return 0 }
  return kilobytes * 1024
}
