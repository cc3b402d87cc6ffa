// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyGrain

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// From the README of Grain.
// Edits: `response as! HTTPURLResponse` stays a cast that stops the program, which the project's format does not allow
// unless it is written out; a request with a body is a POST only when it says so.

@available(*, deprecated)
enum HTTPRequestProgression: Progression {
  typealias Result = (response: HTTPURLResponse, body: Data?)

  case get(url: URL)
  case post(url: URL, body: Data)

  case success(Result)

  func next() -> Deferred<HTTPRequestProgression> {
    return Deferred.future { resolve in
      switch self {
      case let .get(url):
        let session = URLSession.shared
        let task = session.dataTask(
          with: url,
          completionHandler: { data, response, error in
            if let error = error {
              resolve { throw error }
            } else {
              resolve { .success((response: try http(response), body: data)) }
            }
          }
        )
        task.resume()
      case let .post(url, body):
        let session = URLSession.shared
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body
        let task = session.dataTask(
          with: request,
          completionHandler: { (data, response, error) in
            if let error = error {
              resolve { throw error }
            } else {
              resolve { .success((response: try http(response), body: data)) }
            }
          }
        )
        task.resume()
      case .success:
        completedStage(self)
      }
    }
  }

  var result: Result? {
    guard case let .success(result) = self else { return nil }
    return result
  }
}

/// The cast of the sample.
func http(_ response: URLResponse?) throws -> HTTPURLResponse {
  guard let response = response as? HTTPURLResponse else { throw Fault("not HTTP") }
  return response
}
