// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseTesting

/// Calls back like `URLSession`, when the test requests it.
nonisolated final class FakeSession: Sendable {
  typealias Completion = @Sendable (Data?, String?, (any Error)?) -> Void

  let tasks = Recorder<FakeTask>()

  func dataTask(with url: URL, completion: @escaping Completion) -> FakeTask {
    FakeTask(url: url, session: self, completion: completion)
  }
}

nonisolated final class FakeTask: Sendable {
  let url: URL
  let isCancelled = Recorder<Bool>()
  private let session: FakeSession
  private let completion: FakeSession.Completion

  init(url: URL, session: FakeSession, completion: @escaping FakeSession.Completion) {
    self.url = url
    self.session = session
    self.completion = completion
  }

  func resume() { session.tasks.record(self) }
  func cancel() { isCancelled.record(true) }
  func finish(_ data: Data?, _ error: (any Error)?) { completion(data, nil, error) }
}
