// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import Testing

@testable import StepwiseHTTP

@Suite(.timeLimit(.minutes(5)))
struct BufferedBodyTests {
  @Test
  func `Bytes that stop their body on release do so outside its lock`() async {
    await #expect(processExitsWith: .success) {
      let body = Once<BufferedBody>()
      let count = 1_000
      let bytes = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 1)
      body.settle(
        BufferedBody([Data(bytesNoCopy: bytes, count: count, deallocator: .custom { _, _ in body.settled?.stop() })])
      )
      body.settled?.stop()
    }
  }
}
