// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// swift-format-ignore-file: NeverForceUnwrap, UseLetInEveryBoundCaseVariable

import Foundation
import LegacyGrain

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// From the README of Grain.
// Edit: a POST has to say that it is one, since `URLSession` refuses a GET with a body by now.

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
              resolve { .success((response: response as! HTTPURLResponse, body: data)) }
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
              resolve { .success((response: response as! HTTPURLResponse, body: data)) }
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
