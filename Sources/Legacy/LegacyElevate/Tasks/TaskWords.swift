// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What the task was launched with; in every block of it, and in what these call.
///
/// Code that a block has started on a queue finds it as well, as long as the task is the only one that runs.
@available(*, deprecated, message: "Use the input of the Job, which its work is given")
public var taskArgs: TaskArgs { TaskScope.reachable?.args ?? TaskArgs() }

/// Sends a value to `onUpdate`, from the block that runs in the background.
///
/// Does not suspend. Code that the block has started on a queue can call it, too, as long as the task is the only one
/// that runs. Elsewhere it does nothing.
///
/// - Parameter value: The value.
@available(*, deprecated, message: "Use update(_:) of the JobContext that the work of a Job is given")
@preconcurrency
public func yield(_ value: sending Any) { TaskScope.reachable?.context?.update(TaskValue(value)) }

/// Sends a value to `onUpdate`, from the block that runs in the background.
///
/// Does not suspend. Code that the block has started on a queue can call it, too, as long as the task is the only one
/// that runs. Elsewhere it does nothing.
///
/// - Parameter value: The value.
@available(*, deprecated, message: "Use update(_:) of the JobContext that the work of a Job is given")
@preconcurrency
public func update(_ value: sending Any) { TaskScope.reachable?.context?.update(TaskValue(value)) }

/// Sends several values to `onUpdate` at once, whose handler has a parameter for each, or for the first ones.
///
/// - Parameters:
///   - first: The first value.
///   - others: The others.
@available(*, deprecated, message: "Use update(_:) of the JobContext, with a tuple or a type of yours")
@preconcurrency
public func update(_ first: any Sendable, _ others: any Sendable...) {
  TaskScope.reachable?.context?.update(TaskValue(UpdateValues(values: [first] + others)))
}

/// The values of one update.
struct UpdateValues: Sendable {
  let values: [any Sendable]
}
