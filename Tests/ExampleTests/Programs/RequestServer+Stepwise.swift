// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

struct RequestServer: Sendable {
  private let shutdown = CancellationToken()
  private let handle: Chain<Request, String>

  init(_ backend: Backend) {
    handle = Chain("authorize") { (request: Request) in try await backend.user(request) }
      .then("connect", undo: { _ in await backend.disconnect() }) { request in
        await backend.connect()
        return request
      }
      .then("answer") { request in try await backend.answer(request) }
      .then("disconnect") { answer in
        await backend.disconnect()
        return answer
      }
      .onError { _ in backend.failures.record(1) }
  }

  func serve(_ request: Request) -> Run<String> { handle.start(request, cancelledBy: shutdown) }

  func shutDown() async {
    shutdown.cancel(reason: "shutting down")
    await handle.drain()
  }
}
