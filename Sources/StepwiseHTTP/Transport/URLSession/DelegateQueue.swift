// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import Synchronization

  /// Where URLSession tells its delegate what happens, one thing after the other.
  ///
  /// On Linux it reads from the network as fast as it can, and what the delegate has not taken yet stays in memory, up to the
  /// whole body. Here it waits as soon as there is much of that, so that the sender has to wait in turn.
  ///
  /// It waits on the one queue that all sessions of the process share. So it does not wait long: a delegate that is slow
  /// slows others down, and one that does not return, perhaps because it waits for one of them, does not stop them.
  final class DelegateQueue: OperationQueue, @unchecked Sendable {  // Safety: what it adds is Sendable.
    /// How many things may wait; a piece of a body has up to 16 KiB.
    private static let limit = 64
    /// How long each of them is waited for; a disk takes far less.
    private static let patience = DispatchTimeInterval.milliseconds(50)
    /// The same after one that was waited for in vain: URLSession has up to a hundred pieces for it in a row.
    private static let impatience = DispatchTimeInterval.milliseconds(1)

    private let queue = DispatchQueue(label: "StepwiseHTTP.delegate")
    private let places = DispatchSemaphore(value: limit)
    /// Whether the delegate has taken nothing for a while.
    private let isStuck = Atomic(false)

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      let isPatient = !isStuck.load(ordering: .relaxed)
      let hasPlace = places.wait(timeout: .now() + (isPatient ? Self.patience : Self.impatience)) == .success
      isStuck.store(!hasPlace, ordering: .relaxed)
      queue.async { [places] in
        block()
        if hasPlace { places.signal() }
      }
    }
  }
#endif
