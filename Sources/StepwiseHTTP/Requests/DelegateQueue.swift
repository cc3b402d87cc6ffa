// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation

  /// Where URLSession tells its delegate what happens, one thing after the other.
  ///
  /// On Linux it reads from the network as fast as it can, and what the delegate has not taken yet stays in memory, up to the
  /// whole body. Here it waits as soon as there is much of that, so that the sender has to wait in turn.
  final class DelegateQueue: OperationQueue, @unchecked Sendable {  // Proof: what it adds cannot change.
    private static let inside = DispatchSpecificKey<Bool>()
    /// How many things may wait; a piece of a body has up to 16 KiB.
    private static let limit = 64

    private let queue = DispatchQueue(label: "StepwiseHTTP.delegate")
    private let places = DispatchSemaphore(value: limit)

    override init() {
      super.init()
      queue.setSpecific(key: Self.inside, value: true)
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      // Whoever is called here would wait for themselves.
      let waits = DispatchQueue.getSpecific(key: Self.inside) == nil
      if waits { places.wait() }
      queue.async { [places] in
        block()
        if waits { places.signal() }
      }
    }
  }
#endif
