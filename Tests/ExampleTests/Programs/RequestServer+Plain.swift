// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Synchronization

final class PlainRequestServer: Sendable {
  private struct State {
    var tasks: [Int: Task<String, any Error>] = [:]
    var isShutDown = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let backend: Backend
  private let state = Mutex(State())

  init(_ backend: Backend) { self.backend = backend }

  func serve(_ request: Request) -> Task<String, any Error> {
    state.withLock { state in
      let task = Task { [self] in
        defer { completed(request.id) }
        return try await handle(request)
      }
      if state.isShutDown { task.cancel() }
      state.tasks[request.id] = task
      return task
    }
  }

  private func handle(_ request: Request) async throws -> String {
    var isConnected = false
    let result: Result<String, any Error>
    do {
      try Task.checkCancellation()
      let user = try await backend.user(request)
      try Task.checkCancellation()
      await backend.connect()
      isConnected = true
      try Task.checkCancellation()
      result = .success(try await backend.answer(user))
    } catch {
      if !(error is CancellationError) { backend.failures.record(1) }
      result = .failure(error)
    }
    let needsDisconnect = isConnected
    // A Task of its own, which a cancellation does not reach.
    await Task { if needsDisconnect { await backend.disconnect() } }.value
    return try result.get()
  }

  private func completed(_ id: Int) {
    let waiters = state.withLock { state in
      state.tasks[id] = nil
      guard state.tasks.isEmpty else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func shutDown() async {
    let tasks = state.withLock { state in
      state.isShutDown = true
      return state.tasks.values
    }
    for task in tasks { task.cancel() }
    await withCheckedContinuation { waiter in
      let isIdle = state.withLock { state in
        guard !state.tasks.isEmpty else { return true }
        state.waiters.append(waiter)
        return false
      }
      if isIdle { waiter.resume() }
    }
  }
}
