// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
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
