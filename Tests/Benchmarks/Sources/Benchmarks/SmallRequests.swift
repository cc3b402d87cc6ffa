// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CSmallRequests
import Foundation
import StepwiseHTTP

/// Many GET requests of 1 KB, against libcurl driven from C in one thread.
struct SmallRequests {
  /// How much of libcurl's speed is reached, by the number of requests in flight.
  static let bounds = [(width: 1, bound: 0.25), (width: 16, bound: 0.5), (width: 32, bound: 0.6)]

  let url: URL
  let count: Int

  /// So many nanoseconds each, with so many in flight.
  func client(width: Int) async throws -> Double {
    try await time(width: width) { try await HTTP.get(url).body }
  }

  /// The same without a library.
  func byHand(width: Int) async throws -> Double {
    let address = url.absoluteString
    return try await time(width: width) { try await ResponseByHand(address).body }
  }

  private func time(width: Int, _ get: @escaping @Sendable () async throws -> Data) async throws -> Double {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lane in 0..<width {
        group.addTask {
          for _ in stride(from: lane, to: count, by: width) {
            let body = try await get()
            precondition(body.count == 1_024)
          }
        }
      }
      try await group.waitForAll()
    }
    return start.duration(to: .now) / .nanoseconds(count)
  }

  /// The same of libcurl; nil where it is not there.
  func libcurl(width: Int) -> Double? {
    let time = small_requests_drive(url.absoluteString, Int32(count), Int32(width))
    return time < 0 ? nil : time / Double(count)
  }

  /// Prints the medians of both; returns whether the bounds are kept, or libcurl is not there.
  func check() async throws -> Bool {
    var isKept = true
    for (width, bound) in Self.bounds {
      var (own, bare, ratios, byHand) = ([Double](), [Double](), [Double](), [Double]())
      for _ in 0..<7 {
        guard let reference = libcurl(width: width) else { return true }
        let time = try await client(width: width)
        own.append(time)
        bare.append(reference)
        ratios.append(reference / time)
        byHand.append(reference / (try await self.byHand(width: width)))
      }
      let ratio = median(of: ratios)
      if ratio < bound { isKept = false }
      print(
        """
        \(ratio >= bound ? "kept  " : "BROKEN") \(decimal(ratio)) of \(decimal(bound)): the speed of libcurl in C, \(width) \
        in flight (\(ratios.map(decimal).joined(separator: ", ")); \(duration(median(of: own))) each against \
        \(duration(median(of: bare))); \(decimal(median(of: byHand))) without a library)
        """
      )
    }
    return isKept
  }
}
