// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// A chain with random parts, and the names of its steps in order.
struct RandomChain {
  private(set) var names: [String] = []
  private var generator: SeededGenerator

  static func make(seed: UInt64) -> (chain: Chain<Int, Int>, names: [String]) {
    var random = RandomChain(generator: SeededGenerator(seed: seed))
    let chain = random.chain(depth: 3)
    return (chain, random.names)
  }

  private init(generator: SeededGenerator) {
    self.generator = generator
  }

  private mutating func name() -> String {
    let name = DiagramSamples.awkwardNames.randomElement(using: &generator) ?? ""
    names.append(name)
    return name
  }

  private mutating func chain(depth: Int) -> Chain<Int, Int> {
    var chain = Chain(name()) { (number: Int) in number }
    for _ in 0..<Int.random(in: 0...6, using: &generator) { chain = extended(chain, depth: depth) }
    return chain
  }

  private mutating func extended(_ chain: Chain<Int, Int>, depth: Int) -> Chain<Int, Int> {
    switch Int.random(in: 0..<(depth > 0 ? 14 : 11), using: &generator) {
    case 0: chain.then(name()) { $0 }
    case 1: chain.then(name(), undo: { _ in }) { $0 }
    case 2:
      chain.then(name(), undo: { _ in }) { [$0] }.thenMap(name(), maxConcurrent: 2) { $0 }.then(name()) { $0.count }
    case 3: chain.retry(DiagramSamples.policy)
    case 4: chain.timeout(.seconds(1))
    case 5: chain.abandon(after: .seconds(1))
    case 6: chain.executor(globalConcurrentExecutor)
    case 7: chain.recover { _ in 0 }
    case 8: chain.onError { _ in }
    case 9: chain.finally { _ in }
    case 10:
      chain.overlap(
        [.concurrent, .serial, .cancelPrevious, .dropNew, .keepLatest].randomElement(using: &generator) ?? .serial
      )
    case 11: chain.appending(self.chain(depth: depth - 1))
    case 12:
      chain.appending(Chain.zip(self.chain(depth: depth - 1), self.chain(depth: depth - 1)))
        .then(name()) { $0 + $1 }
    default: chain.appending(Chain.race(self.chain(depth: depth - 1), self.chain(depth: depth - 1)))
    }
  }
}
