// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// swift-format-ignore-file: BeginDocumentationCommentWithOneLineSummary, UseLetInEveryBoundCaseVariable

import Foundation
import LegacyGrainFirst

// From the README of Grain 0.3.1, which that of 0.4.0 repeats.
// Edits: those of `FileOpenStage`, and the name.

@available(*, deprecated)
enum FileOpenStage3: StageProtocol {
  typealias Completion = (text: String, number: Double, arrayOfText: [String])

  /// Initial stages
  case read(fileURL: NSURL)
  /// Intermediate stages
  case unserializeJSON(data: NSData)
  case parseJSON(object: Any)
  /// Completed stages
  case success(Completion)

  // Any errors thrown by the stages
  enum Error: Swift.Error {
    case invalidJSON
    case missingData
  }
}

@available(*, deprecated)
extension FileOpenStage3 {
  /// The task for each stage
  var nextTask: Task<FileOpenStage3>? {
    switch self {
    // Currently at the .read stage:
    case let .read(fileURL):
      // A synchronous task to run the passed closure.
      // The task returns the next stage: .read -> .unserializeJSON
      return Task {
        return .unserializeJSON(
          data: try NSData(contentsOf: fileURL as URL, options: .mappedIfSafe)
        )
      }
    // Currently at the .unserializeJSON stage
    case let .unserializeJSON(data):
      return Task {
        return .parseJSON(
          object: try JSONSerialization.jsonObject(with: data as Data, options: JSONSerialization.ReadingOptions())
        )
      }
    case let .parseJSON(object):
      return Task {
        guard let dictionary = object as? [String: Any] else {
          throw Error.invalidJSON
        }

        guard let text = dictionary["text"] as? String,
          let number = dictionary["number"] as? Double,
          let arrayOfText = dictionary["arrayOfText"] as? [String]
        else { throw Error.missingData }

        return .success(
          (
            text: text,
            number: number,
            arrayOfText: arrayOfText
          )
        )
      }
    case .success:
      // Completed: no next task
      return nil
    }
  }

  // Returns a value if this stage is completed
  var completion: Completion? {
    guard case let .success(completion) = self else { return nil }
    return completion
  }
}
