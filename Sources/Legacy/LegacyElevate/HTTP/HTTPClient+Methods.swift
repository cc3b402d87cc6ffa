// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

@available(*, deprecated)
extension HTTPClient {
  /// Gets what is there; a body is refused.
  @available(*, deprecated, message: "Use get of HTTPClient in StepwiseHTTP")
  public var get: HTTPFunction { HTTPFunction("GET", of: self) }

  /// Sends something to be dealt with.
  @available(*, deprecated, message: "Use post of HTTPClient in StepwiseHTTP")
  public var post: HTTPFunction { HTTPFunction("POST", of: self) }

  /// Puts something there.
  @available(*, deprecated, message: "Use put of HTTPClient in StepwiseHTTP")
  public var put: HTTPFunction { HTTPFunction("PUT", of: self) }

  /// Removes what is there.
  @available(*, deprecated, message: "Use delete of HTTPClient in StepwiseHTTP")
  public var delete: HTTPFunction { HTTPFunction("DELETE", of: self) }

  /// Changes what is there.
  @available(*, deprecated, message: "Use patch of HTTPClient in StepwiseHTTP")
  public var patch: HTTPFunction { HTTPFunction("PATCH", of: self) }

  /// Gets the status and headers of what is there; a body is refused.
  @available(*, deprecated, message: "Use head of HTTPClient in StepwiseHTTP")
  public var head: HTTPFunction { HTTPFunction("HEAD", of: self) }

  /// Asks what can be done there.
  @available(*, deprecated, message: "Use options of HTTPClient in StepwiseHTTP")
  public var options: HTTPFunction { HTTPFunction("OPTIONS", of: self) }
}
