// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct SerialTests {
  /// Has its result at once.
  struct Ready: Progression, Codable, Hashable {
    let result: Int?
    @concurrent func next() async throws -> Ready { try completed() }
  }

  /// Copying what remains or what is done with each stage would make a run quadratic.
  @Test("A stage copies neither the remaining progressions nor the results")
  func sharesItsBuffers() async throws {
    var stage = try await Serial((0..<100).map { Ready(result: $0) }).next()
    while case .running(let remaining, _, let results) = stage {
      let address = remaining.withUnsafeBufferPointer { $0.baseAddress }
      stage = try await stage.next()
      guard case .running(let remainingAfter, _, let resultsAfter) = stage else { break }
      let addressAfter = remainingAfter.withUnsafeBufferPointer { $0.baseAddress }
      if !remainingAfter.isEmpty { #expect(addressAfter == address.map { $0 + 1 }) }
      #expect(resultsAfter.count == results.count + 1)
      #expect(resultsAfter.sharesBuffer(with: results))
    }
    #expect(stage.result == Array(0..<100))
  }

  @Test("Two runs from one stage do not see each other's results")
  func branches() async throws {
    let stage = try await Serial([1, 2].map { Ready(result: $0) }).next()
    let one = try await stage.next()
    let other = try await stage.next()
    #expect(one == other && one.hashValue == one.hashValue)
    guard case .running(_, _, let results) = one, case .running(_, _, let otherResults) = other else {
      Issue.record("\(one), \(other)")
      return
    }
    #expect(!results.sharesBuffer(with: otherResults))
    #expect(results.description == "[1]")
    for stage in [one, other] { #expect(try await stage.run() == [1, 2]) }
  }

  @Test("SerialResults equals an array that is appended to, whichever version is appended to")
  func resultsMatchArrays() {
    for seed: UInt64 in 0..<1_000 {
      var random = SeededGenerator(seed: seed)
      var versions: [(results: SerialResults<Int>, array: [Int])] = [([], [])]
      for number in 0..<20 {
        let (results, array) = versions[Int.random(in: versions.indices, using: &random)]
        versions.append((results.appending(number), array + [number]))
      }
      for (results, array) in versions {
        #expect(Array(results) == array && results == SerialResults(array), "seed \(seed)")
      }
    }
  }

  @Test("SerialResults is stored as an array is")
  func resultsAreStoredAsArrays() throws {
    let data = try JSONEncoder().encode(SerialResults([1, 2]))
    #expect(String(decoding: data, as: UTF8.self) == "[1,2]")
    #expect(try JSONDecoder().decode(SerialResults<Int>.self, from: data) == [1, 2])
  }
}
