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
