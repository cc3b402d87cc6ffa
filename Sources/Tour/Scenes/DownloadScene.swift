// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Loopback
import Stepwise
import StepwiseFiles
import StepwiseHTTP

extension Scene {
  /// Downloads that resume after any failure: the user's own, or those of a server that misbehaves.
  static let download = Scene("download", "download files, whatever happens", parameters: ["[<url>...]"]) { arguments in
    guard arguments.isEmpty else {
      let files = arguments.map { DownloadedFile(address: $0, path: DownloadedFile.suggestedName(for: $0)) }
      return try await download(files, deadlines: HTTPDeadlines(headers: .seconds(30), idle: .seconds(15)))
    }
    let server = try UnreliableServer()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-download-\(getuid())")
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    Console.writeError("A server on this machine drops connections, is busy, stalls, and lies about lengths.")
    return try await download(
      server.files(in: folder.path),
      deadlines: HTTPDeadlines(headers: .seconds(5), idle: .seconds(1))
    )
  }

  /// Downloads four files at a time, and says how each has ended.
  private static func download(_ files: [DownloadedFile], deadlines: HTTPDeadlines) async throws -> ExitCode {
    do {
      let successes = try await Chain("files") { (files: [DownloadedFile]) in files }
        .thenMap("download", maxConcurrent: 4) { file in try await file.download(deadlines: deadlines) }
        .run(files)
      return successes.allSatisfy(\.self) ? .success : .failure
    } catch is CancellationError {
      return .interrupted
    }
  }
}

/// A file, and where it comes from.
struct DownloadedFile: Sendable {
  let address: String
  let path: String
  /// The required SHA-256 of the file; nil for any.
  var sha256: String?

  private static let retry = HTTPRetry(
    policy: RetryPolicy(
      maxAttempts: 8,
      backoff: .exponential(from: .milliseconds(250), factor: 2, cap: .seconds(10), jitter: .full)
    ),
    statuses: [408, 425, 429, 500, 502, 503, 504]
  )

  /// Returns the file name that a URL suggests: the last part of its path, as far as it is valid.
  static func suggestedName(for address: String) -> String {
    let name = URL(string: address)?.lastPathComponent ?? ""
    return ["", ".", ".."].contains(name) || name.contains { $0 == "/" || $0 == "\0" } ? "download" : name
  }

  private func say(_ words: String) {
    Console.writeError("\(path.split(separator: "/").last ?? ""): \(words)")
  }

  /// Downloads the file, and returns whether that succeeded.
  ///
  /// - Throws: `CancellationError` alone.
  func download(deadlines: HTTPDeadlines) async throws -> Bool {
    do {
      var client = HTTPClient(baseURL: try address.httpURL(), deadlines: deadlines)
      client.retry = Self.retry
      client.interceptor = { request, send in
        let response = try await send(request)
        if !response.isSuccess { say("the server answered \(response.status)") }
        return response
      }
      let tenth = Lock(-1)
      let bytes = Lock<Int64>(0)
      let response = try await client.download("", to: URL(fileURLWithPath: path), sha256: sha256) { progress in
        bytes.withLock { $0 = progress.receivedBytes }
        guard let fraction = progress.fractionCompleted, let total = progress.totalBytes else { return }
        let now = Int(fraction * 10)
        if tenth.withLock({ exchange(&$0, with: now) }) != now { say("\(now * 10)% of \(total) bytes") }
      }
      if response.isSuccess { say("saved \(path), \(bytes.withLock { $0 }) bytes") }
      return response.isSuccess
    } catch is CancellationError {
      say("stopped; run the same command again to resume")
      throw CancellationError()
    } catch {
      say("failed: \(error)")
    }
    return false
  }
}

/// A server on this machine whose files require a second attempt each.
final class UnreliableServer: Sendable {
  typealias Reply = LoopbackServer.Reply

  /// What the first attempt for a file leads to, given the whole reply.
  private static let troubles: [String: @Sendable (Reply) -> Reply] = [
    "dropped.bin": { whole in whole.closing(after: 240_000, resetting: true) },
    "busy.bin": { _ in
      var busy = Reply.text("come back later\n", status: 503)
      busy.headers.append(("Retry-After", "1"))
      return busy
    },
    "stalled.bin": { whole in whole.stalling(after: 160_000) },
    "misreported.bin": { whole in whole.declaring(.claimed(420_000)) },
  ]

  private let server: LoopbackServer

  /// Starts the server.
  ///
  /// - Throws: `SocketError` when the system provides no port.
  init() throws(SocketError) {
    let tried = Lock<Set<String>>([])
    server = try LoopbackServer { request in
      let name = String(request.path.dropFirst())
      guard let trouble = Self.troubles[name] else { return .notFound }
      let whole = Reply.part(of: Self.bytes(of: name), for: request, tag: "\"\(name)\"")
        .slowly(chunkSize: 10_000, pause: .milliseconds(20))
      return tried.withLock { $0.insert(name).inserted } ? trouble(whole) : whole
    }
  }

  /// Returns its files, and where to save them.
  func files(in folder: String) -> [DownloadedFile] {
    Self.troubles.keys.sorted().map { name in
      DownloadedFile(
        address: "\(server.address)/\(name)",
        path: "\(folder)/\(name)",
        sha256: SHA256.hex(Self.bytes(of: name))
      )
    }
  }

  private static func bytes(of name: String) -> [UInt8] {
    (0..<400_000).map { UInt8(truncatingIfNeeded: $0 * (name.utf8.count + $0) / 8) }
  }
}

extension LoopbackServer.Reply {
  /// Returns a file, or the range that the request specifies.
  static func part(of bytes: [UInt8], for request: LoopbackServer.Request, tag: String) -> LoopbackServer.Reply {
    var reply = LoopbackServer.Reply.ok(bytes)
    reply.headers.append(("ETag", tag))
    guard let range = request.header("Range"), range.hasPrefix("bytes="), request.header("If-Range") ?? tag == tag,
      let start = Int(range.dropFirst(6).prefix { $0 != "-" })
    else { return reply }
    guard start < bytes.count else {
      return LoopbackServer.Reply(status: 416, headers: [("Content-Range", "bytes */\(bytes.count)")])
    }
    let last = min(Int(range.drop { $0 != "-" }.dropFirst()) ?? .max, bytes.count - 1)
    reply.status = 206
    reply.headers.append(("Content-Range", "bytes \(start)-\(last)/\(bytes.count)"))
    reply.body = Array(bytes[start...last])
    return reply
  }
}
