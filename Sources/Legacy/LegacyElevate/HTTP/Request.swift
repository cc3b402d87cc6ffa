// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
internal import Stepwise
internal import StepwiseHTTP

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

@available(*, deprecated)
extension HTTP {
  /// A request that is sent once, at any time, and can be cancelled.
  @available(*, deprecated, message: "Call the functions of HTTP in StepwiseHTTP in a Task, and cancel that")
  public final class Request: Sendable {
    /// The methods that a request can have.
    @available(*, deprecated, message: "Use the functions of HTTP in StepwiseHTTP")
    public static let methods = ["get", "post", "put", "delete", "patch", "head", "options"]

    private let method: String
    private let parts: RequestParts
    private let run = Lock<Task<Response?, Never>?>(nil)

    /// Creates a request, and does not send it.
    ///
    /// - Parameters:
    ///   - method: One of ``methods``, in lower or upper case.
    ///   - url: The URL, which begins with `http`.
    ///   - query: What is added to the query of the URL.
    ///   - headers: Header fields.
    ///   - body: Bytes to be sent as they are.
    ///   - json: What is sent as JSON, in the place of a body and a form.
    ///   - form: Names and values to be sent as a form, in the place of a body.
    ///   - credentials: A `username`, a `password`, or both.
    /// - Throws: `ArgumentError` for another method or URL, and `RequestError` for values that cannot be sent.
    @available(*, deprecated, message: "Call the functions of HTTP in StepwiseHTTP in a Task, and cancel that")
    public init(
      _ method: String,
      _ url: String,
      query: HTTPValues = [:],
      headers: [String: String] = [:],
      body: Data? = nil,
      json: Any? = nil,
      form: HTTPValues? = nil,
      credentials: [String: String]? = nil
    ) throws {
      guard Self.methods.contains(method.lowercased()) else { throw ArgumentError("invalid HTTP method") }
      guard url.hasPrefix("http") else { throw ArgumentError("invalid URL") }
      self.method = method.uppercased()
      parts = try RequestParts(
        url,
        query: query,
        headers: headers,
        body: body,
        json: json,
        form: form,
        credentials: credentials
      )
    }

    /// A Boolean value that indicates whether the request was sent.
    @available(*, deprecated, message: "Call the functions of HTTP in StepwiseHTTP")
    public var isSent: Bool { run.withLock { $0 != nil } }

    /// Sends the request, unless it was sent, and does not wait for the response.
    @available(*, deprecated, message: "Call the functions of HTTP in StepwiseHTTP in a Task")
    public func send() { _ = sent() }

    /// Cancels a request that was sent; its response is nil then.
    @available(*, deprecated, message: "Cancel the Task that makes the request")
    public func cancel() { run.withLock { $0 }?.cancel() }

    /// The response, once it is there; the request is sent if it was not.
    ///
    /// A response that stands for a failure has an `error` and the status 0. Nil when the request was cancelled.
    /// Cancelling the caller's Task does not cancel the request.
    @available(*, deprecated, message: "Call the functions of HTTP in StepwiseHTTP")
    public var response: Response? {
      get async { await sent().value }
    }

    private func sent() -> Task<Response?, Never> {
      run.withLock { run in
        if let run { return run }
        let task = spawn { [method, parts] () -> Response? in
          do {
            return try await HTTP.response(method, parts)
          } catch {
            return Task.isCancelled ? nil : Response(failed: error, address: parts.address)
          }
        }
        run = task
        return task
      }
    }
  }

  /// Sends a request, and shows the activity indicator meanwhile.
  nonisolated(nonsending) static func response(_ method: String, _ parts: RequestParts) async throws -> Response {
    // URLSession has failed such a GET with this code since iOS 13.
    guard parts.body == nil || !["GET", "HEAD"].contains(method) else {
      throw RequestParts.refused("a \(method) request cannot have a body", code: .dataLengthExceedsMaximum)
    }
    var client = StepwiseHTTP.HTTPClient(baseURL: try parts.address.httpURL())
    client.headers = [:]
    ActivityIndicator.instance.show()
    defer { ActivityIndicator.instance.hide() }
    return Response(try await client.method(method)(headers: parts.headers, body: parts.body))
  }
}

/// An argument that a request cannot have.
@available(*, deprecated, message: "Use HTTPError of StepwiseHTTP")
public struct ArgumentError: Error, CustomStringConvertible {
  /// What is wrong with it.
  public let description: String

  init(_ description: String) { self.description = description }
}
