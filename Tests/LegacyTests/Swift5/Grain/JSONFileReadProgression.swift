// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyGrain

/// What the README of Grain names without declaring it: the file of the first edition's README, in the second one's words.
@available(*, deprecated)
enum JSONFileReadProgression: Progression, Equatable {
  struct Content: Equatable {
    let text: String
    let number: Double
    let arrayOfText: [String]
  }

  case read(fileURL: URL)
  case parse(data: Data)
  case success(Content)

  enum ErrorKind: Error {
    case missingData
  }

  func next() -> Deferred<JSONFileReadProgression> {
    switch self {
    case .read(let fileURL):
      return Deferred { .parse(data: try Data(contentsOf: fileURL)) }
    case .parse(let data):
      return Deferred {
        guard let dictionary = try JSONSerialization.jsonObject(with: data, options: []) as? [String: Any],
          let text = dictionary["text"] as? String,
          let number = dictionary["number"] as? Double,
          let arrayOfText = dictionary["arrayOfText"] as? [String]
        else { throw ErrorKind.missingData }
        return .success(Content(text: text, number: number, arrayOfText: arrayOfText))
      }
    case .success:
      completedStep(self)
    }
  }

  var result: Content? {
    guard case .success(let result) = self else { return nil }
    return result
  }
}
