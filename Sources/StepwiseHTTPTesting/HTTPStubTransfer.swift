// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP

/// A session's way to a stub.
final class HTTPStubTransport: HTTPTransport {
  let stub: HTTPStub
  private let isEnded = Lock(false)

  init(_ stub: HTTPStub) { self.stub = stub }

  /// Whether further transfers are refused.
  var isInvalidated: Bool { isEnded.withLock { $0 } }

  func transfer(_ request: HTTPRequest) -> any HTTPTransfer { HTTPStubTransfer(request, in: self) }

  func invalidate() { isEnded.withLock { $0 = true } }
}

/// One request to a stub: a task produces the response, and the consumer receives it from an inbox.
final class HTTPStubTransfer: HTTPTransfer {
  private let request: HTTPRequest
  private let transport: HTTPStubTransport
  private let inbox = Inbox(capacity: .max)
  private let producer = Lock<Task<Void, Never>?>(nil)

  init(_ request: HTTPRequest, in transport: HTTPStubTransport) {
    self.request = request
    self.transport = transport
  }

  nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
    if transport.isInvalidated {
      inbox.update { $0.complete(HTTPError.refused(reason: "the session has ended")) }
    } else if !inbox.isEnded {
      let task = spawn { [inbox, request, stub = transport.stub] in
        do {
          try await Self.produce(request, stub, into: inbox)
        } catch {
          inbox.update { $0.complete(HTTPError(error)) }
        }
      }
      producer.withLock { $0 = task }
      // It may have been cancelled before the task was stored.
      if inbox.isEnded { task.cancel() }
    }
    return try await inbox.head()
  }

  nonisolated(nonsending) func chunk() async throws -> Data? { try await inbox.chunk {} }

  func cancel() {
    inbox.update { $0.cancel() }
    producer.withLock { $0 }?.cancel()
  }

  private static func produce(_ request: HTTPRequest, _ stub: HTTPStub, into inbox: Inbox) async throws {
    let received = HTTPStubRequest(
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: try await request.body?.content.collected() ?? Data()
    )
    if !received.body.isEmpty { request.onBytesSent?(Int64(received.body.count)) }
    let (handler, fault) = try stub.record(received)
    var response: HTTPStubResponse
    switch fault {
    case .connectionRefused: throw HTTPError.connectionRefused
    case .unavailable: response = .status(503)
    case nil, .lostResponse, .truncatedBody: response = try await handler(received)
    }
    if fault == .truncatedBody { response.truncate() }
    try await sleep(response.delay, stub.clock)
    if fault == .lostResponse { throw HTTPError.noAnswer }
    inbox.update { $0.receive(HTTPResponseHead(status: response.status, headers: response.headers)) }
    // Such a response has no body that could break off.
    if request.method == "HEAD" || [204, 304].contains(response.status) {
      (response.chunks, response.failure) = ([], nil)
    }
    for chunk in response.chunks {
      try await sleep(response.chunkDelay, stub.clock)
      inbox.update { $0.receive(chunk) }
    }
    inbox.update { $0.complete(response.failure) }
  }

  private static func sleep(_ duration: Duration, _ clock: some Clock<Duration>) async throws {
    if duration > .zero { try await clock.sleep(for: duration) }
  }
}

extension HTTPStubResponse {
  /// Drops the second half of the body, and ends it with an error.
  fileprivate mutating func truncate() {
    var body = Data(chunks.joined())
    body = body.prefix(body.count / 2)
    chunks = [body]
    failure = HTTPError.tooShort
  }
}

extension HTTPBody.Content {
  /// Reads the whole body.
  fileprivate func collected() async throws -> Data {
    switch self {
    case .bytes(let data): return data
    case .file(let file): return try UploadFile.content(of: file)
    case .chunks(let length, let open):
      let source = try open()
      var body = Data()
      while let piece = try await source() { body += piece }
      guard let length else { return body }
      guard length <= body.count else { throw HTTPError.refused(reason: "the body is shorter than announced") }
      return body.prefix(Int(clamping: length))
    }
  }
}
