// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints

/// Prints what a step of a durable chain costs against appending its value to a file and syncing it, and how much a run
/// writes; returns whether the thresholds are kept.
func checkDurableBounds(effort: Effort) async throws -> Bool {
  print("\nThresholds of durable chains")
  let steps = effort.samples > 100 ? 400 : 200
  var isKept = true
  for (form, threshold) in [(DurableForm.step, 1.3), (.undo, 2.6)] {
    var (ratios, offPool) = ([Double](), [Double]())
    for round in 0..<5 {
      let directory = FileManager.default.temporaryDirectory.appendingPathComponent("durable-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: directory) }
      let store = try FileCheckpointStore(directory: directory)
      let log = AppendedFile(directory.path + "/raw", size: 1_100)
      // Both take turns within one run, because the disk is slower now and then.
      let (durable, byHand) = try await form.chain(log).run(steps, id: "run \(round)", in: store).medians
      let queued = await log.medianInQueue(of: steps)
      print("a step \(form.name): \(duration(durable)), by hand \(duration(byHand)), in a queue \(duration(queued))")
      ratios.append(durable / byHand)
      offPool.append(queued / byHand)
    }
    let ratio = median(of: ratios)
    if ratio > threshold { isKept = false }
    print(
      """
      \(ratio <= threshold ? "kept  " : "BROKEN") \(decimal(ratio)) of \(threshold): a step \(form.name) with a value of \
      1 KB, against append and fsync by hand (\(ratios.map { decimal($0) }.joined(separator: ", "))), which take \
      \(decimal(median(of: offPool))) in a queue, outside of the cooperative pool
      """
    )
  }
  return isKept
}

/// A chain that measures its own steps.
private enum DurableForm {
  case step, undo

  var name: String { self == .step ? "without `undo:`" : "with `undo:`" }

  /// The times of each step, and of the same by hand, in nanoseconds.
  struct Times: Codable, Sendable {
    var durable: [Double] = []
    var byHand: [Double] = []
    var medians: (Double, Double) { (median(of: durable), median(of: byHand)) }
  }

  func chain(_ log: AppendedFile) -> Chain<Int, Times> {
    let text = String(repeating: "x", count: 1_022)
    return Chain("measure") { (count: Int) in
      var times = Times()
      for number in 0..<count {
        let start = ContinuousClock.now
        switch self {
        case .step: _ = try await Stepwise.step("step") { text }
        case .undo:
          _ = try await Stepwise.step("step") {
            text
          } undo: { _ in
          }
        }
        let middle = ContinuousClock.now
        log.append()
        let end = ContinuousClock.now
        // The first ones write the whole file, and warm up.
        guard number > 10 else { continue }
        times.durable.append(start.duration(to: middle) / .nanoseconds(1))
        times.byHand.append(middle.duration(to: end) / .nanoseconds(1))
      }
      return times
    }
  }
}

/// A file to which bytes are appended, each time with a sync.
private struct AppendedFile: Sendable {
  private let file: Int32
  private let bytes: [UInt8]
  private let queue = DispatchQueue(label: "append")

  init(_ path: String, size: Int) {
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
    bytes = [UInt8](repeating: 1, count: size)
  }

  /// Appends by hand, awaited from a queue, so that the sync blocks no thread of the cooperative pool; in nanoseconds.
  func medianInQueue(of count: Int) async -> Double {
    var times: [Double] = []
    for _ in 0..<count {
      let start = ContinuousClock.now
      await appendInQueue()
      times.append(start.duration(to: .now) / .nanoseconds(1))
    }
    return median(of: times)
  }

  private func appendInQueue() async {
    await withCheckedContinuation { continuation in
      queue.async {
        append()
        continuation.resume()
      }
    }
  }

  func append() {
    precondition(write(file, bytes, bytes.count) == bytes.count)
    #if canImport(Darwin)
      precondition(fcntl(file, F_FULLFSYNC) == 0)
    #else
      precondition(fsync(file) == 0)
    #endif
  }
}
