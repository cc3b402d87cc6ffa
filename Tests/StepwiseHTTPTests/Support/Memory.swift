// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Whether what a process takes says something: ThreadSanitizer takes several times as much.
#if TSAN
  let isMeasurable = false
#else
  let isMeasurable = true
#endif

/// The memory of this process that is resident now, in bytes.
func residentMemory() -> Int { memory("VmRSS:") }

/// The most memory that this process has had resident, in bytes.
func peakMemory() -> Int { memory("VmHWM:") }

/// Zero where the system does not say.
private func memory(_ name: String) -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
  return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first).flatMap { Int($0) }.map { $0 * 1024 } ?? 0
}

/// How long the processors have worked for this process.
func processorTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

extension ContinuousClock {
  /// Lets time pass where that is what is tested: something at a random moment.
  func pause(_ duration: Duration) async throws {
    // Safety: nothing is waited for; the moment at which this ends is to be any.
    try await sleep(for: duration)
  }
}
