// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What the task was launched with; in every block of it, and in what these call.
///
/// Outside of them there is nothing in it.
@available(*, deprecated, message: "Use the input of the Job, which its work is given")
public var taskArgs: TaskArgs { TaskScope.current?.args ?? TaskArgs() }

/// Tells a value to `onUpdate`, from the block that runs in the background.
///
/// Does not wait. Elsewhere it does nothing.
///
/// - Parameter value: What there is to tell.
@available(*, deprecated, message: "Use update(_:) of the JobContext that the work of a Job is given")
@preconcurrency
public func yield(_ value: sending Any) { TaskScope.current?.context?.update(TaskValue(value)) }

/// Tells a value to `onUpdate`, from the block that runs in the background.
///
/// Does not wait. Elsewhere it does nothing.
///
/// - Parameter value: What there is to tell.
@available(*, deprecated, message: "Use update(_:) of the JobContext that the work of a Job is given")
@preconcurrency
public func update(_ value: sending Any) { TaskScope.current?.context?.update(TaskValue(value)) }
