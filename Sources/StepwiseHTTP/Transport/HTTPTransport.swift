// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A type that carries requests to servers: URLSession, libcurl, or a stub in a test.
///
/// A transport only sends requests over the network. An ``HTTPSession`` on top of it follows redirects, stores cookies,
/// enforces deadlines, limits bodies and adds credentials: these work in the same way with each transport. A transport
/// therefore
///
/// - returns every response unchanged: a redirect, a 401 and a 407 are responses;
/// - sends exactly the header fields of the request, and adds only what the protocol needs: `Host`, `Content-Length` or
///   `Transfer-Encoding`, `Connection`, `Accept-Encoding`, and an `Accept` and a `User-Agent` when there are none;
/// - stores no cookies, caches nothing, and has no deadlines;
/// - decompresses the body and leaves the header fields unchanged;
/// - throws ``HTTPError``, which contains no URL, header value or password.
///
/// To use your own transport, pass it to ``HTTPSession/init(transport:cookies:bodyLimit:)``.
public protocol HTTPTransport: Sendable {
  /// Creates the transfer of one request; does nothing until its ``HTTPTransfer/head()`` is called.
  ///
  /// The request is checked: it has an absolute URL of `http` or `https` without user name, password and fragment, and
  /// cookies and credentials in its headers. Of its rules, only the `connect` deadline is for the transport.
  func transfer(_ request: HTTPRequest) -> any HTTPTransfer

  /// Shuts down after in-flight transfers complete.
  ///
  /// A transfer that starts later throws ``HTTPError/refused(reason:)``. May be called any number of times.
  func invalidate()
}

/// One request to a server, and its response.
///
/// One consumer calls ``head()`` once, then ``chunk()`` until that returns nil. You can call ``cancel()`` from
/// anywhere at any time. A consumer that does not read to the end calls ``cancel()``.
public protocol HTTPTransfer: Sendable {
  /// Sends the request, and suspends until the head of the final response has arrived.
  ///
  /// Responses of status 100 to 199 are skipped, except for 101. Cancelling the task has no effect: call ``cancel()``.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` after ``cancel()``, also when that was called before. After an error
  ///   there is nothing more to read.
  func head() async throws -> HTTPResponseHead

  /// Returns the next piece of the body, decompressed and not empty, or nil at its end; suspends until it has arrived.
  ///
  /// The transport reads ahead a bounded amount, and then makes the server wait until the consumer calls again. The
  /// transport chooses the amount and the size of a piece, up to some hundred kilobytes.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` after ``cancel()``.
  func chunk() async throws -> Data?

  /// Cancels the transfer and closes its connection, unless the response is complete.
  ///
  /// A suspended call throws `CancellationError` immediately, without waiting for the network, and so does a later one.
  /// May be called any number of times, from any thread; does not block.
  func cancel()
}
