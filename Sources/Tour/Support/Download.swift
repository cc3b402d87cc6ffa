// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Step<URL, [UInt8]> {
  /// Fetches a URL, and reports the progress.
  ///
  /// URLSession calls its delegate on its own thread; the resolver passes the result to the chain.
  static var download: Step {
    .callback("download") { url, resolver in
      let session = URLSession(configuration: .ephemeral, delegate: Download(from: url, resolver), delegateQueue: nil)
      let task = session.dataTask(with: URLRequest(url: url, timeoutInterval: Download.patience))
      resolver.onCancel { _ in task.cancel() }
      task.resume()
      session.finishTasksAndInvalidate()  // or else it would keep its delegate for ever
    }
  }
}

/// An error of a download, described in one line.
struct DownloadError: Error, CustomStringConvertible {
  let description: String

  /// Creates an error from what the server did.
  init(from url: URL, _ what: String) {
    // Only the host, because the full URL may contain a password.
    description = "\(url.host ?? "the server")\(url.port.map { ":\($0)" } ?? "") \(what)"
  }
}

/// Collects a body as URLSession receives it, and calls a resolver with it.
///
/// It cancels a body that is too large as soon as that is known. URLSession does not wait for its delegate, so handling
/// a piece has to be quick: what arrives meanwhile is in memory as well.
private final class Download: NSObject, URLSessionDataDelegate {
  /// How many seconds a server may be silent.
  static let patience = 10.0

  private struct State {
    var bytes: [UInt8] = []
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
    check(dataTask.response, receiving: data)
    let (fraction, isRefused) = state.withLock { state in
      (Double(state.bytes.count) / Double(state.expectedByteCount), state.refusal != nil)
    }
    if isRefused { dataTask.cancel() } else if fraction.isFinite, fraction > 0 { resolver.report(fraction) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    check(task.response, receiving: Data())  // a response without a body has not been checked yet
    let state = state.withLock { state in state }
    resolver.resolve {
      if let refusal = state.refusal { throw refusal }
      guard let error else { return state.bytes }
      let what =
        switch (error as? URLError)?.code {
        case .cannotConnectToHost: "does not answer; is a server running there?"
        case .timedOut: "was silent for \(Int(Self.patience)) seconds"
        case _ where state.bytes.count < state.expectedByteCount:
          "broke off after \(state.bytes.count) of \(state.expectedByteCount) bytes"
        case .badServerResponse, .networkConnectionLost: "closed the connection without an answer"
        // In words of the system, which differ.
        default: "cannot be fetched from: \(error.localizedDescription)"
        }
      throw DownloadError(from: url, what)
    }
  }

  /// Stores a piece, unless the response is not the expected one.
  private func check(_ response: URLResponse?, receiving data: Data) {
    guard let response = response as? HTTPURLResponse else { return }
    let (status, expected) = (response.statusCode, response.expectedContentLength)
    state.withLock { state in
      state.expectedByteCount = expected
      if !(200..<300).contains(status) {
        let words = HTTPURLResponse.localizedString(forStatusCode: status).lowercased()
        state.refusal = DownloadError(from: url, "answered \(status) (\(words))")
      } else if max(expected, Int64(state.bytes.count + data.count)) > Int64(PictureSource.maximumByteCount) {
        state.refusal = DownloadError(from: url, "has the picture, but \(PictureSource.tooLarge)")
      } else {
        state.bytes += data
      }
    }
  }
}
