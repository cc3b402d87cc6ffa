// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// A handler that was passed to a chain: it never runs concurrently with itself.
///
/// Old closures are not `@Sendable`, and a chain that is started twice may reach its handler on two threads at once. A
/// call that arrives while another one runs is made by the thread of that one, after it has returned.
final class SerialClosure<Input>: Sendable {
  private let calls = Lock(CallQueue<Sent<Input>>())
  private let body: Sent<(Input) -> Void>

  init(_ body: Sent<(Input) -> Void>) {
    self.body = body
  }

  func callAsFunction(_ input: Sent<Input>) {
    var call = calls.withLock { $0.arrive(input) }
    while let input = call {
      body.value(input.value)
      call = calls.withLock { $0.finish() }
    }
  }
}
