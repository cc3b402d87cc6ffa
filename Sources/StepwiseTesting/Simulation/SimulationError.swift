// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a simulation did not complete.
///
/// Further cases may be added, so end a `switch` over it with `default`.
public enum SimulationError: Error, Hashable, Sendable {
  /// Nothing is ready to run and no task sleeps on the simulation's clock, but the body has not returned: a deadlock,
  /// or a task that waits for something outside the simulation.
  case stalled
  /// The text is not a schedule that a simulation printed.
  case invalidSchedule(String)
  /// The executor is already running a body.
  case busy
  /// A condition of ``require(_:_:)`` does not hold.
  case unmet(String)
}

extension SimulationError: CustomStringConvertible {
  /// The cause and, where there is one, the remedy.
  public var description: String {
    switch self {
    case .stalled:
      """
      The simulation stalled: nothing is ready to run and no task sleeps on its clock, but its body has not returned. It is \
      a deadlock, or a task waits for something outside the simulation: the main actor, an actor with its own executor, \
      another thread, another clock.
      """
    case .invalidSchedule(let text):
      "'\(text)' is not a schedule. Copy the text after 'schedule:' from the report of a failed simulation."
    case .busy:
      "The executor is already running a body. Use one executor for each simulation."
    case .unmet(let message):
      message
    }
  }
}

/// Throws when a condition does not hold, for the body of a simulation.
///
/// A test framework's own expectation reports a failure each time, also while a failing schedule is being shrunk; this
/// function reports it once, through ``SimulationFailure``.
///
/// - Parameters:
///   - condition: What must hold.
///   - message: What was found instead.
/// - Throws: ``SimulationError/unmet(_:)`` with the message.
public func require(_ condition: Bool, _ message: String = "The condition does not hold.")
  throws(SimulationError)
{
  if !condition { throw .unmet(message) }
}
