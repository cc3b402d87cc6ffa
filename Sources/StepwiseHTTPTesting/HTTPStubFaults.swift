// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Makes a part of the requests fail, as a bad network does; the same seed chooses the same faults.
///
/// Use it to test that your retries and messages work.
///
/// ```swift
/// let stub = HTTPStub(faults: HTTPStubFaults(seed: 7, probability: 0.3))
/// ```
///
/// The choice depends on the seed, and on how many requests of the same method and path came before. It does not depend
/// on requests to other paths that are in flight at the same time.
public struct HTTPStubFaults: Sendable {
  /// A fault of one request.
  public enum Fault: Sendable, Hashable, CaseIterable {
    /// The connection is refused: the handler is not called.
    case connectionRefused
    /// The handler is called, and the connection is lost before the head of its response.
    case lostResponse
    /// The handler is called, and the connection is lost in the middle of its response's body.
    case truncatedBody
    /// The server answers with status 503: the handler is not called.
    case unavailable
  }

  private let seed: UInt64
  private let probability: Double
  private let kinds: [Fault]

  /// Creates faults.
  ///
  /// - Parameters:
  ///   - seed: The seed.
  ///   - probability: The part of the requests that have a fault, from 0 to 1.
  ///   - kinds: The faults to choose from.
  public init(seed: UInt64, probability: Double = 0.2, kinds: [Fault] = Fault.allCases) {
    self.seed = seed
    self.probability = probability
    self.kinds = kinds
  }

  /// Returns the fault of a request; nil when it has none.
  ///
  /// - Parameters:
  ///   - key: The method and the path.
  ///   - count: The number of requests with this key that came before.
  /// - Returns: The fault.
  func fault(of key: String, count: Int) -> Fault? {
    // FNV-1a, because the hash of a `String` differs from process to process; then SplitMix64.
    var state = key.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    state = state &+ UInt64(count) &* 0x9E37_79B9_7F4A_7C15
    func next() -> UInt64 {
      state = state &+ 0x9E37_79B9_7F4A_7C15
      var word = state
      word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
      return word ^ word >> 31
    }
    let isFaulty = Double(next() >> 11) * 0x1p-53 < probability
    return isFaulty && !kinds.isEmpty ? kinds[Int(next() % UInt64(kinds.count))] : nil
  }
}
