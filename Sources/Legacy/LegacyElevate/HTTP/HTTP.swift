// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import StepwiseHTTP

/// Requests for the block of a task that runs in the background.
///
/// Each suspends until the whole response is there, and ends at once when its task is cancelled or its time is up.
/// Redirects are followed, ten at most. Any status is an answer. There is no cache.
@available(*, deprecated, message: "Use HTTP of StepwiseHTTP")
public enum HTTP: Sendable {
  /// How many requests are in flight, for an indicator of activity.
  @available(*, deprecated, message: "Use HTTPActivity.current of StepwiseHTTP, or HTTP.activity, which goes on")
  public static var activityCount: Int { HTTPActivity.current }

  /// Gets what is there; a body is refused.
  @available(*, deprecated, message: "Use get of HTTP in StepwiseHTTP")
  public static var get: HTTPFunction { HTTPFunction("GET") }

  /// Sends something to be dealt with.
  @available(*, deprecated, message: "Use post of HTTP in StepwiseHTTP")
  public static var post: HTTPFunction { HTTPFunction("POST") }

  /// Puts something there.
  @available(*, deprecated, message: "Use put of HTTP in StepwiseHTTP")
  public static var put: HTTPFunction { HTTPFunction("PUT") }

  /// Removes what is there.
  @available(*, deprecated, message: "Use delete of HTTP in StepwiseHTTP")
  public static var delete: HTTPFunction { HTTPFunction("DELETE") }

  /// Changes what is there.
  @available(*, deprecated, message: "Use patch of HTTP in StepwiseHTTP")
  public static var patch: HTTPFunction { HTTPFunction("PATCH") }

  /// Gets the status and headers of what is there; a body is refused.
  @available(*, deprecated, message: "Use head of HTTP in StepwiseHTTP")
  public static var head: HTTPFunction { HTTPFunction("HEAD") }

  /// Asks what can be done there.
  @available(*, deprecated, message: "Use options of HTTP in StepwiseHTTP")
  public static var options: HTTPFunction { HTTPFunction("OPTIONS") }
}
