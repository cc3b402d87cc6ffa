// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// swift-format-ignore-file: BeginDocumentationCommentWithOneLineSummary, UseLetInEveryBoundCaseVariable

import Foundation
import LegacyGrain

// From the README of Grain, as it stands.

@available(*, deprecated)
indirect enum FileAccessProgression: Progression {
  typealias Result = (fileURL: URL, hasAccess: Bool, stopper: FileAccessProgression?)

  /// Initial steps
  case start(fileURL: URL, forgiving: Bool)
  case stop(fileURL: URL)
  /// Completed step
  case complete(Result)

  enum ErrorKind: Error {
    case cannotAccess(fileURL: URL)
  }
}

@available(*, deprecated)
extension FileAccessProgression {
  /// The task for each stage
  func next() -> Deferred<FileAccessProgression> {
    switch self {
    case let .start(fileURL, forgiving):
      return Deferred {
        let accessSucceeded = fileURL.startAccessingSecurityScopedResource()

        if !accessSucceeded && !forgiving {
          throw ErrorKind.cannotAccess(fileURL: fileURL)
        }

        return FileAccessProgression.complete(
          (
            fileURL: fileURL,
            hasAccess: accessSucceeded,
            stopper: accessSucceeded
              ? FileAccessProgression.stop(
                fileURL: fileURL
              ) : nil
          )
        )
      }
    case let .stop(fileURL):
      return Deferred {
        fileURL.stopAccessingSecurityScopedResource()

        return FileAccessProgression.complete(
          (
            fileURL: fileURL,
            hasAccess: false,
            stopper: nil
          )
        )
      }
    case .complete:
      completedStage(self)
    }
  }

  var result: Result? {
    guard case let .complete(result) = self else { return nil }
    return result
  }
}
