// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import Testing

@testable import CodecAdapters

#if canImport(CryptoKit)
  import CryptoKit
#else
  import Crypto
#endif

/// The codec of the articles, with AES-GCM of CryptoKit or swift-crypto.
@Suite(.timeLimit(.minutes(5)))
struct AESGCMTests {
  @Test func `A store is encrypted, and another key cannot read it`() async throws {
    let (files, key) = (MemoryCheckpointStore(), SymmetricKey(size: .bits256))
    let order = Chain("order") { (cart: String) in try await step("pay") { "receipt of \(cart)" } }
    let store = EncodedCheckpointStore(files, codec: aesGCM("aes-gcm-1", key))
    for _ in 1...2 { #expect(try await order.run("book", id: "order-7", in: store) == "receipt of book") }
    let record = try #require(try await files.load("order-7"))
    #expect(!String(decoding: record.first + record.stage, as: UTF8.self).contains("book"))
    let other = EncodedCheckpointStore(files, codec: aesGCM("aes-gcm-1", SymmetricKey(size: .bits256)))
    await #expect {
      try await order.run("book", id: "order-7", in: other)
    } throws: { error in
      if case CheckpointError.undecodable(_, _, "aes-gcm-1", _) = error { true } else { false }
    }
  }
}
