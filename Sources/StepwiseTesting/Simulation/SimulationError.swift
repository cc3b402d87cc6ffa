// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a simulation did not come to its end.
package enum SimulationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Nothing was ready to run and nobody slept on the simulation's clock, but the body had not ended.
  case stalled(seed: UInt64)
  /// The executor was already running a body.
  case busy(seed: UInt64)

  package var description: String {
    switch self {
    case .stalled(let seed):
      """
      The simulation stalled (seed \(seed)): nothing is ready to run and nobody sleeps on its clock, but its body has \
      not ended. It waits for something that never comes, or for something outside the simulation: an actor with an \
      executor of its own, another thread, another clock, a task made without the executor preference.
      """
    case .busy(let seed):
      "The simulation (seed \(seed)) is already running a body."
    }
  }
}
