// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// swift-format-ignore-file: UseLetInEveryBoundCaseVariable

import Foundation
import LegacyGrain

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// From the README of Grain, as it stands.

@available(*, deprecated)
enum FileUploadProgression: Progression {
  typealias Result = Any?

  case openFile(fileStage: JSONFileReadProgression, destinationURL: URL)
  case uploadRequest(request: HTTPRequestProgression)
  case parseUploadResponse(data: Data?)
  case success(Result)

  enum ErrorKind: Error {
    case uploadFailed(statusCode: Int, body: Data?)
    case uploadResponseParsing(body: Data?)
  }

  func next() -> Deferred<FileUploadProgression> {
    switch self {
    case let .openFile(stage, destinationURL):
      return stage.compose(
        transformNext: {
          .openFile(fileStage: $0, destinationURL: destinationURL)
        },
        transformResult: { result in
          Deferred {
            .uploadRequest(
              request: .post(
                url: destinationURL,
                body: try JSONSerialization.data(withJSONObject: ["number": result.number], options: [])
              )
            )
          }
        }
      )
    case let .uploadRequest(stage):
      return stage.compose(
        transformNext: {
          .uploadRequest(request: $0)
        },
        transformResult: { result in
          let (response, body) = result
          switch response.statusCode {
          case 200:
            return Deferred { .parseUploadResponse(data: body) }
          default:
            return Deferred { throw ErrorKind.uploadFailed(statusCode: response.statusCode, body: body) }
          }
        }
      )
    case let .parseUploadResponse(data):
      return Deferred {
        .success(
          try data.map { try JSONSerialization.jsonObject(with: $0, options: []) }
        )
      }
    case .success:
      completedStage(self)
    }
  }

  var result: Result? {
    guard case let .success(result) = self else { return nil }
    return result
  }
}
