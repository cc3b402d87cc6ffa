// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

/// Runs work later or elsewhere, as a queue does.
@available(*, deprecated, message: "Use a TaskExecutor, or the actor that the work is bound to")
public protocol ServiceProtocol {
  /// Runs a closure.
  func async(_ closure: @escaping @Sendable () -> Void)
}

/// Returns the same work with its handler called by a service.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, or has an executor")
public func + <Result>(deferred: Deferred<Result>, service: any ServiceProtocol) -> Deferred<Result> {
  let (deferred, service) = (Sent(deferred), Sent(service))
  return .future { resolve in
    deferred.value.pass { useResult in
      let useResult = Sent(useResult)
      service.value.async { resolve(useResult.value) }
    }
  }
}

/// Lets the work's handler be called by a service.
@available(*, deprecated, message: "Await it in an async function that is bound to an actor, or has an executor")
public func += <Result>(deferred: inout Deferred<Result>, service: any ServiceProtocol) {
  deferred = deferred + service
}
