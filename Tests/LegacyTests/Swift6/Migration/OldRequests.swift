// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyElevate

/// The old code of Migration.md about requests.
@available(*, deprecated)
enum OldRequests {
  static func tracks(_ url: String) async throws -> [String]? {
    let response = try await HTTP.get(url, query: ["name": "Prince"])
    let tracks = response.body as? [String]
    return tracks
  }

  static func create(_ base: String) async throws -> (Int, String) {
    let client = HTTPClient(base)
    client.setCredentials(username: "ann", password: "secret")
    let response = try await client.post("tracks", json: ["title": "Kiss"])
    return (response.statusCode, String(decoding: response.rawBody, as: UTF8.self))
  }

  static func problem(_ url: String) async -> String {
    do {
      return try await "\(HTTP.get(url).statusCode)"
    } catch is OfflineError {
      return "offline"
    } catch let error as RequestError where error.code == NSURLErrorTimedOut {
      return "too slow"
    } catch let error as RequestError {
      return "code \(error.code)"
    } catch {
      return "\(error)"
    }
  }

  static func isBusy() -> Bool {
    let isBusy = HTTP.activityCount > 0
    return isBusy
  }
}
