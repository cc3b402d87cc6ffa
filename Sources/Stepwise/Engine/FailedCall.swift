// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A call of `step` that has thrown an error, which may end the run or be caught.
struct FailedCall: Sendable {
  /// How many are retained; code that catches more of them seldom throws an old one.
  static let limit = 8

  let step: ChainStep
  let error: any Error
  /// Whether its task was cancelled, as by a time limit around it.
  let isInterrupted: Bool

  /// Returns the call whose error is the same as one that ends a run at a planned step; the newest of several.
  ///
  /// An error that was thrown on is the same object. Where it was caught by its type and thrown again, it is another one
  /// with an equal value, or one that reads the same; then it was thrown in the same planned step. A time limit replaces
  /// the error of the step that it cancelled.
  static func newest(of calls: [FailedCall], with error: any Error, at index: Int) -> FailedCall? {
    if let call = calls.last(where: { isSameObject($0.error, error) }) { return call }
    let calls = calls.filter { $0.step.index == index }
    return calls.last { isEqual($0.error, error) }
      ?? (error is TimeoutError ? calls.last(where: \.isInterrupted) : nil)
  }

  private static func isSameObject(_ first: any Error, _ second: any Error) -> Bool {
    // Safety: an error is one reference to a box, which both keep alive; only the addresses are compared. Without the
    // coercions, the value in the box would be cast.
    unsafeBitCast(first as any Error, to: UInt.self) == unsafeBitCast(second as any Error, to: UInt.self)
  }

  private static func isEqual(_ first: any Error, _ second: any Error) -> Bool {
    guard type(of: first) == type(of: second) else { return false }
    if let first = first as? any Equatable { return isEqual(first, second) }
    if type(of: first) is AnyClass { return first as AnyObject === second as AnyObject }
    return String(reflecting: first) == String(reflecting: second)
  }

  private static func isEqual<Value: Equatable>(_ first: Value, _ second: any Error) -> Bool {
    second as? Value == first
  }
}
