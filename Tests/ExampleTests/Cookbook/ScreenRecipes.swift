// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Observation
import Stepwise
import StepwiseFlows

// The classes of two recipes of the cookbook.

@MainActor
@Observable
final class SearchModel {
  private(set) var hits: [String] = []
  private(set) var message: String?
  private let chain: Chain<String, [String]>

  init(_ chain: Chain<String, [String]>) {
    self.chain = chain.overlap(.cancelPrevious)
  }

  func search(for text: String) {
    chain.start(text) { @MainActor [weak self] result in
      switch result {
      case .success(let hits): self?.hits = hits
      case .failure(is CancellationError): break
      case .failure(let error): self?.message = "\(error)"
      }
    }
  }
}

@MainActor
final class NameCoordinator {
  private let host: NavigationHost
  private let finished: (String) -> Void
  private var run: Run<String>?

  init(_ controller: UINavigationController, finished: @escaping (String) -> Void) {
    host = NavigationHost(controller)
    self.finished = finished
  }

  func start() {
    let name = FlowStep<String, String>("name", .push, on: host) { handler in NameViewController(handler) }
    let run = Flow<String>("name", first: name, content: "").start()
    self.run = run
    Task { [weak self] in
      if case .resolved(let name) = await run.outcome { self?.finished(name) }
    }
  }

  func stop() { run?.cancel(reason: "the coordinator was stopped") }
}
