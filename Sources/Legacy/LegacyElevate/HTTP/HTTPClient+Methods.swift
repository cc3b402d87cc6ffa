// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import StepwiseHTTP

@available(*, deprecated)
extension HTTPClient {
  /// Gets what is there; a body is refused.
  @available(*, deprecated, message: "Use get of HTTPClient in StepwiseHTTP")
  public var get: HTTPFunction { HTTPFunction(of: modern) { $0.get } }

  /// Sends something to be dealt with.
  @available(*, deprecated, message: "Use post of HTTPClient in StepwiseHTTP")
  public var post: HTTPFunction { HTTPFunction(of: modern) { $0.post } }

  /// Puts something there.
  @available(*, deprecated, message: "Use put of HTTPClient in StepwiseHTTP")
  public var put: HTTPFunction { HTTPFunction(of: modern) { $0.put } }

  /// Removes what is there.
  @available(*, deprecated, message: "Use delete of HTTPClient in StepwiseHTTP")
  public var delete: HTTPFunction { HTTPFunction(of: modern) { $0.delete } }

  /// Changes what is there.
  @available(*, deprecated, message: "Use patch of HTTPClient in StepwiseHTTP")
  public var patch: HTTPFunction { HTTPFunction(of: modern) { $0.patch } }

  /// Gets the status and headers of what is there; a body is refused.
  @available(*, deprecated, message: "Use head of HTTPClient in StepwiseHTTP")
  public var head: HTTPFunction { HTTPFunction(of: modern) { $0.head } }

  /// Asks what can be done there.
  @available(*, deprecated, message: "Use options of HTTPClient in StepwiseHTTP")
  public var options: HTTPFunction { HTTPFunction(of: modern) { $0.options } }
}
