// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

@testable import StepwiseHTTP

/// A transport that records when its transfers start to wait for a connection, and when they begin.
final class ObservedTransport: HTTPTransport {
  /// True when a transfer waits, false when it begins.
  let waits = Recorder<Bool>()
  private let base: any HTTPTransport

  init(_ base: any HTTPTransport) { self.base = base }

  func transfer(_ request: HTTPRequest) -> any HTTPTransfer {
    var observed = request
    observed.onWait = { [waits] isWaiting in
      request.onWait?(isWaiting)
      waits.record(isWaiting)
    }
    return base.transfer(observed)
  }

  func invalidate() { base.invalidate() }
}
