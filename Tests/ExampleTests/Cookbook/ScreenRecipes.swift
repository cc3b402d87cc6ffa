// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Observation
import Stepwise

// The class of a recipe of the cookbook.

@MainActor
@Observable
final class SearchModel {
  private(set) var hits: [String] = []
  private(set) var message: String?
  private let chain: Chain<String, [String]>
  @ObservationIgnored private var search: Task<Void, Never>?

  init(_ chain: Chain<String, [String]>) { self.chain = chain }

  deinit { search?.cancel() }

  func search(for text: String) {
    search?.cancel()
    search = Task { [weak self, chain] in
      do {
        let hits = try await chain.run(text)
        if !Task.isCancelled { self?.hits = hits }
      } catch {
        if !Task.isCancelled { self?.message = "\(error)" }
      }
    }
  }
}
