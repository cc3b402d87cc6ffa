// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The examples of Grain's READMEs, as they are written today.

/// Opens a JSON file.
enum JSONFileRead: Progression, Equatable {
  struct Content: Codable, Equatable, Sendable {
    let text: String
    let number: Double
    let arrayOfText: [String]
  }

  /// Initial stage
  case read(URL)
  /// Intermediate stage
  case parse(Data)
  /// Completed stage
  case success(Content)

  func next() async throws -> JSONFileRead {
    switch self {
    case .read(let url): .parse(try Data(contentsOf: url))
    case .parse(let data): .success(try JSONDecoder().decode(Content.self, from: data))
    case .success: try completed()
    }
  }

  var result: Content? {
    if case .success(let content) = self { content } else { nil }
  }
}

/// Scopes the access to a file: on Linux, an open descriptor.
indirect enum FileAccess: Progression {
  typealias Result = (handle: FileHandle, hasAccess: Bool, stopper: FileAccess?)

  case start(URL, forgiving: Bool)
  case stop(FileHandle)
  case complete(Result)

  struct CannotAccess: Error {
    let url: URL
  }

  func next() async throws -> FileAccess {
    switch self {
    case .start(let url, let forgiving):
      guard let handle = FileHandle(forReadingAtPath: url.path) else {
        if forgiving { return .complete((.nullDevice, false, nil)) }
        throw CannotAccess(url: url)
      }
      return .complete((handle, true, .stop(handle)))
    case .stop(let handle):
      try handle.close()
      return .complete((handle, false, nil))
    case .complete: return try completed()
    }
  }

  var result: Result? {
    if case .complete(let result) = self { result } else { nil }
  }
}

/// Sends one request.
enum HTTPRequest: Progression {
  typealias Result = (response: HTTPURLResponse, body: Data)

  case get(URL)
  case post(URL, body: Data)
  case success(Result)

  func next() async throws -> HTTPRequest {
    switch self {
    case .get(let url): try await Self.send(URLRequest(url: url))
    case .post(let url, let body):
      try await Self.send(Self.post(body, to: url))
    case .success: try completed()
    }
  }

  var result: Result? {
    if case .success(let result) = self { result } else { nil }
  }

  private static func post(_ body: Data, to url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = body
    return request
  }

  /// Grain's `Deferred.future` is a resolver now.
  private static func send(_ request: URLRequest) async throws -> HTTPRequest {
    try await withResolver { (resolver: Resolver<HTTPRequest>) in
      let task = LoopbackClient.session.dataTask(with: request) { data, response, error in
        resolver.resolve((response as? HTTPURLResponse).map { .success(($0, data ?? Data())) }, error)
      }
      resolver.onCancel { _ in task.cancel() }
      task.resume()
    }
  }
}

/// Uploads a number that is read from a file: composed of two of the others.
enum FileUpload: Progression {
  case openFile(JSONFileRead, destination: URL)
  case upload(HTTPRequest)
  case parseResponse(Data)
  case success([String: Double])

  struct UploadFailed: Error, Equatable {
    let status: Int
    let body: Data
  }

  func next() async throws -> FileUpload {
    switch self {
    case .openFile(let stage, let destination):
      try await stage.compose(
        transformNext: { .openFile($0, destination: destination) },
        transformResult: { content in
          .upload(.post(destination, body: try JSONEncoder().encode(["number": content.number])))
        }
      )
    case .upload(let stage):
      try await stage.compose(
        transformNext: { .upload($0) },
        transformResult: { response, body in
          guard response.statusCode == 200 else { throw UploadFailed(status: response.statusCode, body: body) }
          return .parseResponse(body)
        }
      )
    case .parseResponse(let data): .success(try JSONDecoder().decode([String: Double].self, from: data))
    case .success: try completed()
    }
  }

  var result: [String: Double]? {
    if case .success(let result) = self { result } else { nil }
  }
}
