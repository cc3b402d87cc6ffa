// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The name and the observers of a chain.
final class ChainIdentity: Sendable {
  let name: String?
  let observers: [any RunObserver]

  init(name: String?, observers: [any RunObserver]) {
    self.name = name
    self.observers = observers
  }
}
