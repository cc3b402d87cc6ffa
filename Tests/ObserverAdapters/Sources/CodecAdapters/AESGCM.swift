// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseCheckpoints

#if canImport(CryptoKit)
  import CryptoKit
#else
  import Crypto
#endif
#if canImport(StepwiseFleet)
  import StepwiseFleet
#endif

func aesGCM(_ name: String, _ key: SymmetricKey) -> PayloadCodec {
  PayloadCodec(name: name) { bytes in
    let box = try AES.GCM.seal(bytes, using: key)
    return Array(box.nonce) + box.ciphertext + box.tag
  } decode: { bytes in
    Array(try AES.GCM.open(AES.GCM.SealedBox(combined: bytes), using: key))
  }
}

#if canImport(StepwiseFleet)
  func encryptedFleet(_ key: SymmetricKey) -> Fleet {
    let configuration = FleetConfiguration(codec: aesGCM("aes-gcm-1", key))
    let fleet = Fleet("host=db.internal dbname=work", configuration: configuration)
    return fleet
  }
#endif
