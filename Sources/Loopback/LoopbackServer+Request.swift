// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension LoopbackServer {
  /// A request as it arrived.
  package struct Request: Sendable {
    package let method: String
    /// The path without the query, such as `"/cat.bmp"`.
    package let path: String
    /// What follows the question mark, or nil.
    package let query: String?
    /// The headers, in order of arrival.
    package let headers: [(name: String, value: String)]
    package fileprivate(set) var body: [UInt8] = []
    fileprivate let version: String

    /// Whether the client leaves the connection open for another request.
    package var keepsConnection: Bool {
      let connection = header("Connection")?.lowercased()
      return connection != "close" && (version == "HTTP/1.1" || connection == "keep-alive")
    }

    /// The value of the first header with a name, ignoring case.
    package func header(_ name: String) -> String? {
      let name = name.lowercased()
      return headers.first { header in header.name.lowercased() == name }?.value
    }
  }
}

/// Reads requests from a connection, one after the other.
extension LoopbackServer.Connection {
  /// A refused request, with the status of the refusal.
  enum Failure: Int, Error {
    case malformed = 400
    case lengthRequired = 411
    case bodyTooLarge = 413
    case headTooLarge = 431
  }

  private static let maximumHeadSize = 64 * 1024

  /// The next request, or nil when the connection has ended.
  mutating func next() throws(Failure) -> LoopbackServer.Request? {
    guard let headSize = try receiveHead() else { return nil }
    var request = try Self.parse(buffer.prefix(headSize))
    buffer.removeFirst(headSize)
    guard let body = try receiveBody(of: request) else { return nil }
    request.body = body
    return request
  }

  /// Receives up to the empty line and returns the number of bytes including it, or nil when the connection ends.
  private mutating func receiveHead() throws(Failure) -> Int? {
    // Avoids a quadratic search when a head arrives byte by byte.
    var searched = 0
    while true {
      if let end = buffer[searched...].firstRange(of: [13, 10, 13, 10]) { return end.upperBound }
      searched = max(0, buffer.count - 3)
      guard buffer.count < Self.maximumHeadSize else { throw .headTooLarge }
      guard receiveMore() else { return nil }
    }
  }

  private mutating func receiveBody(of request: LoopbackServer.Request) throws(Failure) -> [UInt8]? {
    guard request.header("Transfer-Encoding") == nil else { throw .lengthRequired }
    let length = request.header("Content-Length") ?? "0"
    guard let size = Int(length), size >= 0 else { throw .malformed }
    guard size <= core.maximumBodySize else { throw .bodyTooLarge }
    if size > buffer.count, request.header("Expect")?.lowercased() == "100-continue" {
      guard socket.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)[...]) else { return nil }
    }
    while buffer.count < size {
      guard receiveMore() else { return nil }
    }
    let body = Array(buffer.prefix(size))
    buffer.removeFirst(size)
    return body
  }

  private mutating func receiveMore() -> Bool {
    guard let bytes = socket.receive() else { return false }
    buffer += bytes
    return true
  }

  /// Returns the request without its body.
  private static func parse(_ bytes: ArraySlice<UInt8>) throws(Failure) -> LoopbackServer.Request {
    let text = String(decoding: bytes, as: UTF8.self)
    // CR LF is one Character, so a split at line breaks leaves no stray CR.
    let lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
    guard let first = lines.first else { throw .malformed }
    let words = first.split(separator: " ")
    guard words.count == 3, words[1].hasPrefix("/") || words[1] == "*", words[2].hasPrefix("HTTP/1.") else {
      throw .malformed
    }
    var headers: [(name: String, value: String)] = []
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw .malformed }
      let value = line[line.index(after: colon)...].drop { character in character == " " || character == "\t" }
      headers.append((name: String(line[..<colon]), value: String(value)))
    }
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    return LoopbackServer.Request(
      method: String(words[0]),
      path: String(target[0]),
      query: target.count > 1 ? String(target[1]) : nil,
      headers: headers,
      version: String(words[2])
    )
  }
}
