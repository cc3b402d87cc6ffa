// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a further run of a chain does while one is in flight.
///
/// A refused or replaced run ends as cancelled, with the policy's name as the reason.
public struct Overlap: Hashable, Sendable, CustomStringConvertible {
  private enum Kind: String {
    case concurrent, serial, cancelPrevious, dropNew, keepLatest
  }

  private let kind: Kind

  /// The run starts immediately, concurrently with the others.
  public static let concurrent = Overlap(kind: .concurrent)

  /// The run waits; runs start in the order of the calls.
  public static let serial = Overlap(kind: .serial)

  /// The run cancels the one in flight and the one waiting.
  ///
  /// It starts when the former has completed, including `finally`.
  public static let cancelPrevious = Overlap(kind: .cancelPrevious)

  /// The run is refused.
  public static let dropNew = Overlap(kind: .dropNew)

  /// The run waits and replaces the one that was waiting.
  public static let keepLatest = Overlap(kind: .keepLatest)

  /// The policy's name, which is the reason for a run that the policy refused, replaced or cancelled.
  public var description: String { kind.rawValue }

  /// How a run enters the gate; nil when there is no gate.
  var mode: GateMode? {
    switch kind {
    case .concurrent: nil
    case .serial: .queue
    case .cancelPrevious: .replaceAll
    case .dropNew: .refuse
    case .keepLatest: .replaceWaiting
    }
  }
}
