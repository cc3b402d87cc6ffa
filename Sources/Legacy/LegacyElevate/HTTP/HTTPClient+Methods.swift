// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

@available(*, deprecated)
extension HTTPClient {
  /// Gets what is there; a body is refused.
  @available(*, deprecated, message: "Use get of HTTPClient in StepwiseHTTP")
  public var get: HTTPFunction { HTTPFunction(.get, of: modern) }

  /// Sends something to be dealt with.
  @available(*, deprecated, message: "Use post of HTTPClient in StepwiseHTTP")
  public var post: HTTPFunction { HTTPFunction(.post, of: modern) }

  /// Puts something there.
  @available(*, deprecated, message: "Use put of HTTPClient in StepwiseHTTP")
  public var put: HTTPFunction { HTTPFunction(.put, of: modern) }

  /// Removes what is there.
  @available(*, deprecated, message: "Use delete of HTTPClient in StepwiseHTTP")
  public var delete: HTTPFunction { HTTPFunction(.delete, of: modern) }

  /// Changes what is there.
  @available(*, deprecated, message: "Use patch of HTTPClient in StepwiseHTTP")
  public var patch: HTTPFunction { HTTPFunction(.patch, of: modern) }

  /// Gets the status and headers of what is there; a body is refused.
  @available(*, deprecated, message: "Use head of HTTPClient in StepwiseHTTP")
  public var head: HTTPFunction { HTTPFunction(.head, of: modern) }

  /// Asks what can be done there.
  @available(*, deprecated, message: "Use options of HTTPClient in StepwiseHTTP")
  public var options: HTTPFunction { HTTPFunction(.options, of: modern) }
}
