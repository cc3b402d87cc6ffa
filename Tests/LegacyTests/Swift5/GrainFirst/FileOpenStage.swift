// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// swift-format-ignore-file: BeginDocumentationCommentWithOneLineSummary, UseLetInEveryBoundCaseVariable

import Foundation
import LegacyGrainFirst

// From the README of Grain, first edition.
// Edits: `ErrorType` is `Swift.Error`, since this one hides it; `NSData(contentsOfURL:options:)` is `init(contentsOf:…)`,
// `.DataReadingMappedIfSafe` is `.mappedIfSafe`, `NSJSONSerialization` is `JSONSerialization`, which takes `Data` and gives
// `Any` where `AnyObject` was; every name that `guard let` binds has its own `let`.

@available(*, deprecated)
enum FileOpenStage: StageProtocol {
  /// Initial stages
  case read(fileURL: NSURL)
  /// Intermediate stages
  case unserializeJSON(data: NSData)
  case parseJSON(object: Any)
  /// Completed stages
  case success(text: String, number: Double, arrayOfText: [String])

  enum Error: Swift.Error {
    case invalidJSON
    case missingData
  }
}

@available(*, deprecated)
extension FileOpenStage {
  /// The task for each stage
  var nextTask: Task<FileOpenStage>? {
    switch self {
    case let .read(fileURL):
      return .unit({
        .unserializeJSON(
          data: try NSData(contentsOf: fileURL as URL, options: .mappedIfSafe)
        )
      })
    case let .unserializeJSON(data):
      return .unit({
        .parseJSON(
          object: try JSONSerialization.jsonObject(with: data as Data, options: JSONSerialization.ReadingOptions())
        )
      })
    case let .parseJSON(object):
      return .unit({
        guard let dictionary = object as? [String: Any] else {
          throw Error.invalidJSON
        }

        guard let text = dictionary["text"] as? String,
          let number = dictionary["number"] as? Double,
          let arrayOfText = dictionary["arrayOfText"] as? [String]
        else { throw Error.missingData }

        return .success(
          text: text,
          number: number,
          arrayOfText: arrayOfText
        )
      })
    case .success:
      return nil
    }
  }
}
