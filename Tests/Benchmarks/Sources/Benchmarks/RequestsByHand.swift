// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CSmallRequests
import Foundation

/// A response of one thread of libcurl, handed to the task that waits: what is left of the cost of a request when it has
/// no deadline, cancellation, redirect, cookie, limit or back pressure.
struct ResponseByHand: Sendable {
  /// Receives the position of the request in memory, as a pointer is not sendable; 0 after a failure.
  private typealias Waiter = UnsafeContinuation<UInt, Never>

  private(set) var status = 0
  private(set) var headers: [(name: String, value: String)] = []
  let body: Data

  /// Sends a GET request, and waits for the whole response.
  init(_ url: String) async throws {
    let completed = await withUnsafeContinuation { (waiter: Waiter) in
      let box = Unmanaged.passRetained(Box(waiter))
      let isSent = small_requests_send(url, box.toOpaque()) { context, request, result in
        guard let context else { return }
        let position = result == 0 ? UInt(bitPattern: request) : 0
        Unmanaged<Box>.fromOpaque(context).takeRetainedValue().waiter.resume(returning: position)
      }
      if isSent == 0 { box.takeRetainedValue().waiter.resume(returning: 0) }
    }
    guard let completed = UnsafeMutablePointer<small_request>(bitPattern: completed),
      let bytes = completed.pointee.bytes
    else { throw URLError(.networkConnectionLost) }
    defer { small_requests_reuse(completed) }
    let head = completed.pointee.head
    body = Data(bytes: bytes + head, count: completed.pointee.count - head)
    for line in UnsafeRawBufferPointer(start: bytes, count: head).split(separator: UInt8(ascii: "\n")) {
      if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
        headers.append((Self.text(line[..<colon]), Self.text(line[colon...].dropFirst(2).dropLast())))
      } else if line.count > 12 {
        status = Int(Self.text(line.dropFirst(9).prefix(3))) ?? 0
      }
    }
  }

  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String { String(decoding: bytes, as: UTF8.self) }

  /// The continuation as an object, so that C can keep it.
  private final class Box {
    let waiter: Waiter

    init(_ waiter: Waiter) { self.waiter = waiter }
  }
}
