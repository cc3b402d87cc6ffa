// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseTesting
import Testing

/// A server that takes bodies of any length, also in chunks, and keeps their first bytes alone.
///
/// It redirects `/307` to `/there` after it has taken the body.
final class UploadServer: Sendable {
  struct Upload: Sendable, Equatable {
    var type: String
    var length: Int
    var isChunked: Bool
    /// The first 64 KiB.
    var text: String
  }

  private let listener: Socket
  private let port: UInt16
  private let recorder = Recorder<Upload>()

  init() throws {
    withoutProxy
    listener = try Socket.listening()
    port = try listener.localPort()
    Thread.detachNewThread { [listener, recorder] in
      while true {
        var wanted = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&wanted, 1, -1)
        guard let connection = listener.accept() else { continue }
        Thread.detachNewThread {
          var reader = BodyReader(connection)
          while let head = reader.head() {
            guard let upload = reader.upload(head) else { break }
            let isRedirect = head.contains(" /307 ")
            if !isRedirect { recorder.record(upload) }
            let status = isRedirect ? "307 Temporary Redirect\r\nLocation: /there" : "200 OK"
            guard connection.send(Array("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n".utf8)[...]) else { break }
          }
          connection.close()
        }
      }
    }
  }

  func url(_ path: String = "/") throws -> URL { try #require(URL(string: "http://127.0.0.1:\(port)\(path)")) }

  var uploads: [Upload] { recorder.elements }
}

/// Reads requests from a connection.
private struct BodyReader {
  private let connection: Socket
  private var buffer: ArraySlice<UInt8> = []

  init(_ connection: Socket) { self.connection = connection }

  private mutating func line() -> String? {
    var line: [UInt8] = []
    while true {
      guard let byte = buffer.popFirst() else {
        guard let more = connection.receive() else { return nil }
        buffer = more[...]
        continue
      }
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      if byte != UInt8(ascii: "\r") { line.append(byte) }
    }
  }

  mutating func head() -> String? {
    var head = ""
    while let line = line() {
      if line.isEmpty { return head }
      head += line + "\n"
    }
    return nil
  }

  mutating func upload(_ head: String) -> UploadServer.Upload? {
    func value(_ name: String) -> String? {
      head.split(separator: "\n").first { $0.lowercased().hasPrefix(name + ":") }?
        .split(separator: ":", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces)
    }
    let isChunked = value("transfer-encoding") == "chunked"
    var upload = UploadServer.Upload(type: value("content-type") ?? "-", length: 0, isChunked: isChunked, text: "")
    guard isChunked else { return take(Int(value("content-length") ?? "") ?? 0, to: &upload) ? upload : nil }
    while let size = line().flatMap({ Int($0, radix: 16) }) {
      guard take(size, to: &upload), line() != nil else { return nil }
      if size == 0 { return upload }
    }
    return nil
  }

  private mutating func take(_ count: Int, to upload: inout UploadServer.Upload) -> Bool {
    var left = count
    while left > 0 {
      if buffer.isEmpty {
        guard let more = connection.receive() else { return false }
        buffer = more[...]
      }
      let piece = buffer.prefix(left)
      buffer = buffer.dropFirst(piece.count)
      left -= piece.count
      if upload.length < 65_536 { upload.text += String(decoding: piece, as: UTF8.self) }
      upload.length += piece.count
    }
    return true
  }
}
