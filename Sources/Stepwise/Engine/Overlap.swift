// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what a further run of a chain does while one is in flight, for example for a search field.
///
/// You pass it to ``Chain/overlap(_:)``: `cancelPrevious` suits a search field, `dropNew` a button that your user taps
/// twice. A refused or replaced run ends as cancelled, with the policy's name as the reason, and calls no handler.
///
/// ```swift
/// let search = Chain("wait") { (text: String) in
///   try await clock.sleep(for: .milliseconds(300))
///   return text
/// }
/// .then("search") { text in try await find(text) }
/// .overlap(.cancelPrevious)
/// ```
public struct Overlap: Sendable {
  /// The reason for a run that the policy refused, replaced or cancelled.
  package let name: String
  /// How a run enters the gate; nil when there is no gate.
  let mode: GateMode?
  /// How many runs the gate admits at once.
  var capacity = 1

  /// The run starts immediately, concurrently with the others.
  public static let concurrent = Overlap(name: "concurrent", mode: nil)

  /// The run waits while as many runs as the limit are in flight; runs start in the order of the calls.
  ///
  /// Use it to protect a server or the memory from too many runs. A limit below one counts as one.
  public static func concurrent(max limit: Int) -> Overlap {
    Overlap(name: "concurrent(max: \(limit))", mode: .queue, capacity: max(1, limit))
  }

  /// The run waits; runs start in the order of the calls.
  public static let serial = Overlap(name: "serial", mode: .queue)

  /// The run cancels the one in flight and the one waiting.
  ///
  /// It starts when the former has completed, including `finally`.
  public static let cancelPrevious = Overlap(name: "cancelPrevious", mode: .replaceAll)

  /// The run is refused.
  public static let dropNew = Overlap(name: "dropNew", mode: .refuse)

  /// Waits; replaces the run that is already waiting.
  public static let keepLatest = Overlap(name: "keepLatest", mode: .replaceWaiting)
}
