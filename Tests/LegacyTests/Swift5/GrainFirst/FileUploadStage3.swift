// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// swift-format-ignore-file: BeginDocumentationCommentWithOneLineSummary, UseLetInEveryBoundCaseVariable

import Foundation
import LegacyGrainFirst

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// From the README of Grain 0.3.1, which that of 0.4.0 repeats.
// Edits: the names; the session's methods are those of today; `if case let .success(_, number, _)` matches one tuple now;
// closures of several lines name their task.

@available(*, deprecated)
enum HTTPRequestStage3: StageProtocol {
  typealias Completion = (response: HTTPURLResponse, body: Data?)

  case get(url: URL)
  case post(url: URL, body: Data)

  case success(Completion)

  var nextTask: Task<HTTPRequestStage3>? {
    switch self {
    case let .get(url):
      return Task.future { resolve in
        let session = URLSession.shared
        let task = session.dataTask(with: url) { data, response, error in
          if let error = error {
            resolve { throw error }
          } else {
            // swift-format-ignore: NeverForceUnwrap
            resolve { .success((response: response as! HTTPURLResponse, body: data)) }
          }
        }
        task.resume()
      }
    case let .post(url, body):
      return Task.future { resolve in
        let session = URLSession.shared
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body
        let task = session.dataTask(with: request) { (data, response, error) in
          if let error = error {
            resolve { throw error }
          } else {
            // swift-format-ignore: NeverForceUnwrap
            resolve { .success((response: response as! HTTPURLResponse, body: data)) }
          }
        }
        task.resume()
      }
    case .success:
      return nil
    }
  }

  var completion: Completion? {
    guard case let .success(completion) = self else { return nil }
    return completion
  }
}

@available(*, deprecated)
enum FileUploadStage3: StageProtocol {
  typealias Completion = ()

  case openFile(fileOpenStage: FileOpenStage3, destinationURL: URL)
  case uploadRequest(HTTPRequestStage3)
  case success

  enum Error: Swift.Error {
    case uploadFailed(statusCode: Int, body: Data?)
  }

  var nextTask: Task<FileUploadStage3>? {
    switch self {
    case let .openFile(stage, destinationURL):
      if case let .success((_, number, _)) = stage {
        return Task {
          .uploadRequest(
            .post(
              url: destinationURL,
              body: try JSONSerialization.data(withJSONObject: ["number": number], options: [])
            )
          )
        }
      } else {
        return stage.mapNext { .openFile(fileOpenStage: $0, destinationURL: destinationURL) }
      }
    case let .uploadRequest(stage):
      if case let .success((response, body)) = stage {
        let statusCode = response.statusCode
        if statusCode == 200 {
          return Task { .success }
        } else {
          return Task { throw Error.uploadFailed(statusCode: statusCode, body: body) }
        }
      } else {
        return stage.mapNext { .uploadRequest($0) }
      }
    case .success:
      return nil
    }
  }

  var completion: Completion? {
    // CRASHES: guard case let .success(completion) = self else { return nil }
    guard case .success = self else { return nil }
    return ()
  }
}
