// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The part of a response before its body.
public struct HTTPResponseHead: Sendable {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields, one per line where the transport can distinguish them.
  public let headers: HTTPHeaders

  /// Creates a head.
  public init(status: Int, headers: HTTPHeaders = [:]) {
    self.status = status
    self.headers = headers
  }

  /// The length of the body, if it is known; it is unknown when the transport decompresses the body.
  var length: Int64? {
    guard headers["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
    return headers["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }
}

extension HTTPResponseHead: CustomStringConvertible {
  /// The status.
  public var description: String { "HTTPResponseHead(\(status))" }
}

/// Assembles the head of a response from its lines, which libcurl has checked.
///
/// Lines after the head are trailers, which count as the head does, and are dropped.
struct HTTPHeadParser {
  private enum State {
    case status
    case fields
    case done
  }

  enum Event {
    case more
    /// The head of the final response.
    case head(HTTPResponseHead)
    case tooLarge
  }

  private let limit: Int
  private var state = State.status
  private var size = 0
  private var status = 0
  private(set) var isHTTP2 = false
  private var lines: [(name: String, value: String)] = []

  init(limit: Int) { self.limit = limit }

  mutating func take(_ bytes: UnsafeRawBufferPointer) -> Event {
    size += bytes.count
    guard size <= limit else { return .tooLarge }
    var line = bytes[...]
    while let last = line.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { line = line.dropLast() }
    switch state {
    case .status:
      status = Self.status(line)
      isHTTP2 = line.starts(with: "HTTP/2".utf8)
      lines = []
      state = .fields
      return .more
    case .fields:
      guard line.isEmpty else {
        add(line)
        return .more
      }
      // An interim response, which only announces another one.
      if (100..<200).contains(status), status != 101 {
        state = .status
        return .more
      }
      state = .done
      return .head(head)
    case .done: return .more
    }
  }

  /// Whether the head of the final response is complete.
  var isDone: Bool {
    if case .done = state { true } else { false }
  }

  /// Whether the head has begun and is not complete.
  var isCut: Bool { size > 0 && !isDone }

  private var head: HTTPResponseHead {
    var headers = HTTPHeaders()
    for (name, value) in lines { headers.add(name, value) }
    return HTTPResponseHead(status: status, headers: headers)
  }

  private mutating func add(_ line: Slice<UnsafeRawBufferPointer>) {
    guard let first = line.first else { return }
    if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
      // The continuation of the previous line.
      guard let last = lines.indices.last else { return }
      lines[last].value += " " + Self.trimmed(line)
    } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      lines.append((Self.trimmed(line[..<colon]), Self.trimmed(line[line.index(after: colon)...])))
    }
  }

  /// Returns the three digits after the first space.
  private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> Int {
    let rest = line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }
    let digits = rest.prefix(3).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Decodes as UTF-8, or as Latin-1 if that fails.
  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    var bytes = bytes.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    while let last = bytes.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { bytes = bytes.dropLast() }
    // Validating is generic code of the standard library, and most lines are ASCII.
    let text = UnsafeRawBufferPointer(rebasing: bytes)
    if text.allSatisfy({ $0 < 0x80 }) { return String(decoding: text, as: UTF8.self) }
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
