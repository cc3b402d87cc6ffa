// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyGrainFirst
import StepwiseTesting
import Testing

/// The samples of the README of Grain, first edition.
@Suite(.timeLimit(.minutes(5)))
struct GrainFirstReadmeTests {
  let seen = Recorder<String>()

  /// `XCTestExpectation`, as far as the sample uses it.
  struct Expectation: Sendable {
    let fulfilled = Recorder<Bool>()
    func fulfill() { fulfilled.record(true) }
  }

  // Edits: what a user does with the result, and with the error, is to record it.
  @available(*, deprecated)
  @Test(arguments: [
    (#"{"text": "abc", "number": 5, "arrayOfText": ["def", "ghi"]}"#, #"abc 5.0 ["def", "ghi"]"#),
    ("[]", "invalidJSON"), ("{}", "missingData"),
  ])
  func `A file is opened`(text: String, expected: String) async throws {
    let workshop = try Workshop()
    let fileURL = NSURL(fileURLWithPath: try workshop.file(text).path)
    let expectation = Expectation()

    FileOpenStage.read(fileURL: fileURL).execute { useResult in
      do {
        let result = try useResult()
        // swift-format-ignore: UseLetInEveryBoundCaseVariable
        if case let .success(text, number, arrayOfText) = result {
          // Do something with result
          seen.record("\(text) \(number) \(arrayOfText)")
        } else {
          // Invalid stage to complete at
          fatalError("Invalid success stage \(result)")
        }
      } catch {
        // Handle `error` here
        seen.record("\(error)")
      }

      expectation.fulfill()
    }

    await expectation.fulfilled.elements(atLeast: 1)
    #expect(seen.elements == [expected])
    withExtendedLifetime(workshop) {}
  }

  // The text: "Stages can have multiple choices of initial stages or success stages".
  @available(*, deprecated)
  @Test func `A task may be a future`() async {
    FutureStage.wait("text").execute { useResult in
      if case .end(let text) = try? useResult() { seen.record(text) }
    }

    #expect(await seen.elements(atLeast: 1) == ["text, later"])
  }
}

@available(*, deprecated)
private enum FutureStage: StageProtocol {
  case wait(String)
  case end(String)

  var nextTask: Task<FutureStage>? {
    switch self {
    case .wait(let text):
      return .future { resolve in
        DispatchQueue.global().async { resolve { .end(text + ", later") } }
      }
    case .end:
      return nil
    }
  }
}
