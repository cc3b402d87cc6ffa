// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a further run of a chain does while one is in flight.
///
/// A run that is refused or replaced ends cancelled, with the policy's name as the reason.
public struct Overlap: Hashable, Sendable, CustomStringConvertible {
  private enum Kind: String {
    case concurrent, serial, cancelPrevious, dropNew, keepLatest
  }

  private let kind: Kind

  /// It runs beside the others.
  public static let concurrent = Overlap(kind: .concurrent)

  /// It waits for its turn; runs begin in the order of the calls.
  public static let serial = Overlap(kind: .serial)

  /// It cancels the one in flight and the one waiting, and begins when the former has ended, `finally` included.
  public static let cancelPrevious = Overlap(kind: .cancelPrevious)

  /// It is refused.
  public static let dropNew = Overlap(kind: .dropNew)

  /// It waits; only the newest waits, and those before it are replaced.
  public static let keepLatest = Overlap(kind: .keepLatest)

  /// The policy's name, which is the reason of a run that it refused, replaced or cancelled.
  public var description: String { kind.rawValue }

  /// How it enters the gate; nil when there is none.
  var mode: GateMachine<RunCore>.Mode? {
    switch kind {
    case .concurrent: nil
    case .serial: .queue
    case .cancelPrevious: .replaceAll
    case .dropNew: .refuse
    case .keepLatest: .replaceWaiting
    }
  }
}
