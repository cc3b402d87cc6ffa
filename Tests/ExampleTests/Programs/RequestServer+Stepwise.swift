// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

struct RequestServer: Sendable {
  private let shutdown = CancellationToken()
  private let handle: Chain<Request, String>

  init(_ backend: Backend) {
    handle = Chain("request") { (request: Request) in
      let user = try await step("authorize") { try await backend.user(request) }
      try await step("connect") {
        await backend.connect()
      } undo: {
        await backend.disconnect()
      }
      let answer = try await step("answer") { try await backend.answer(user) }
      try await step("disconnect") { await backend.disconnect() }
      return answer
    }
    .onError { _ in backend.failures.record(1) }
  }

  func serve(_ request: Request) -> Run<String> { handle.start(request, cancelledBy: shutdown) }

  func shutDown() async {
    shutdown.cancel(reason: "shutting down")
    await handle.waitUntilIdle()
  }
}
