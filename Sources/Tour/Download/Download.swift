// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Collects a body as URLSession receives it, and calls a resolver with it.
///
/// It cancels a body that is too large as soon as that is known. URLSession does not wait for its delegate, so handling
/// a piece has to be quick: what arrives meanwhile is in memory as well.
final class Download: NSObject, URLSessionDataDelegate {
  /// How many seconds a server may be silent.
  static let patience = 10.0

  private struct State {
    var pieces: [Data] = []
    var byteCount = 0
    /// What the server says that it sends; not positive when it does not say.
    var expectedByteCount: Int64 = 0
    /// Why the rest of the body is refused.
    var refusal: DownloadError?
  }

  private let url: URL
  private let resolver: Resolver<[UInt8]>
  private let state = Lock(State())

  init(from url: URL, _ resolver: Resolver<[UInt8]>) {
    self.url = url
    self.resolver = resolver
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isFirst = state.withLock { state in state.byteCount == 0 }
    if isFirst { look(at: dataTask.response) }
    let fraction: Double? = state.withLock { state in
      state.byteCount += data.count
      if state.byteCount > PictureSource.maximumByteCount, state.refusal == nil { state.refusal = tooLarge }
      guard state.refusal == nil else { return nil }
      state.pieces.append(data)
      return Double(state.byteCount) / Double(state.expectedByteCount)
    }
    guard let fraction else { return dataTask.cancel() }
    if fraction.isFinite, fraction > 0 { resolver.report(fraction) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    look(at: task.response)  // a response without a body has not been checked yet
    let state = state.withLock { state in state }
    resolver.resolve {
      if let refusal = state.refusal { throw refusal }
      if let error { throw DownloadError(error, from: url, received: state.byteCount, of: state.expectedByteCount) }
      return state.pieces.flatMap(\.self)
    }
  }

  /// Checks whether a response is the expected one.
  private func look(at response: URLResponse?) {
    guard let response = response as? HTTPURLResponse else { return }
    let (status, expected) = (response.statusCode, response.expectedContentLength)
    state.withLock { state in
      state.expectedByteCount = expected
      guard state.refusal == nil else { return }
      if !(200..<300).contains(status) {
        let words = HTTPURLResponse.localizedString(forStatusCode: status).lowercased()
        state.refusal = DownloadError(from: url, "answered \(status) (\(words))")
      } else if expected > PictureSource.maximumByteCount {
        state.refusal = tooLarge
      }
    }
  }

  private var tooLarge: DownloadError {
    DownloadError(from: url, "has the picture, but \(PictureSource.tooLarge)")
  }
}
