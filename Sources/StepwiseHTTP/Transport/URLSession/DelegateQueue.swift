// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import Synchronization

  /// The queue on which URLSession calls its delegate.
  ///
  /// On Linux, URLSession reads from the network as fast as it can, and what the delegate has not handled stays in
  /// memory, up to the whole body. This queue waits as soon as there is much of it, so that the sender has to wait as
  /// well.
  ///
  /// It blocks the one queue that all sessions of the process share, so it does not wait for long: a slow delegate
  /// slows others down, and one that does not return, perhaps because it waits for one of them, does not stop them.
  final class DelegateQueue: OperationQueue, @unchecked Sendable {  // Safety: what it adds is Sendable.
    /// The maximum number of waiting calls; a piece of a body has up to 16 KiB.
    private static let limit = 64
    /// How long to wait for each of them; a disk takes far less.
    private static let patience = DispatchTimeInterval.milliseconds(50)
    /// How long to wait after a wait that was in vain: URLSession may have up to a hundred pieces in a row.
    private static let impatience = DispatchTimeInterval.milliseconds(1)

    private let queue = DispatchQueue(label: "StepwiseHTTP.delegate")
    private let places = DispatchSemaphore(value: limit)
    /// Whether the delegate has not handled a call for a while.
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
