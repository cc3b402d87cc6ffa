// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  /// Converts what jobs store to what the columns hold, and back: nothing else encodes or decodes a payload.
  ///
  /// Stages, the inputs and outcomes of chains, and signals are texts; what the steps of chains store is bytes. Encode a
  /// payload once for a write, because a write that is sent again is recognized by its bytes.
  struct FleetPayloads: Sendable {
    let codecs: PayloadCodecs

    init(_ configuration: FleetConfiguration) {
      codecs = PayloadCodecs(configuration.codec, previous: configuration.previousCodecs)
    }

    // MARK: - Encoding

    /// Encodes a stage, an outcome, a signal or what is said of one.
    func encode(_ text: String, of id: String) throws(FleetError) -> String {
      try storable(id) { () throws(DataError) in try codecs.text(text.utf8) }
    }

    /// Encodes an entry of a chain.
    func encode(entry: [UInt8], of id: String) throws(FleetError) -> [UInt8] {
      try storable(id) { () throws(DataError) in try codecs.encode(entry) }
    }

    /// Encodes the first stages of jobs, or the inputs of chains, whose identities stay readable.
    func encode(_ batch: FleetBatch) throws(FleetError) -> FleetBatch {
      let isChain = batch.isChain
      return try batch.mappingStages { (stage, id) throws(FleetError) in
        guard isChain else { return try encode(stage, of: id) }
        return try storable(id) { () throws(DataError) in try HostedStart.encode(stage, by: codecs) }
      }
    }

    private func storable<Value>(_ id: String, _ encode: () throws(DataError) -> Value) throws(FleetError) -> Value {
      do { return try encode() } catch { throw .unstorable(id: id, reason: error.reason) }
    }

    // MARK: - Decoding

    /// Decodes a stage, an outcome, a signal or what is said of one.
    func decode(_ text: String, of id: String) throws(FleetError) -> String {
      try readable(id) { () throws(PayloadCodecs.Failure) in String(decoding: try codecs.payload(text), as: UTF8.self) }
    }

    /// Decodes an entry of a chain.
    func decode(entry: [UInt8], of id: String) throws(FleetError) -> [UInt8] {
      try readable(id) { () throws(PayloadCodecs.Failure) in try codecs.decode(entry) }
    }

    /// Decodes how a run of a chain begins.
    func decode(start: String, of id: String) throws(FleetError) -> String {
      try readable(id) { () throws(PayloadCodecs.Failure) in try HostedStart.decode(start, by: codecs) }
    }

    private func readable<Value>(
      _ id: String,
      _ decode: () throws(PayloadCodecs.Failure) -> Value
    ) throws(FleetError) -> Value {
      do {
        return try decode()
      } catch {
        switch error {
        case .unknown(let codec): throw .unknownCodec(id: id, codec: codec)
        case .undecodable(let codec, let reason): throw .undecodable(id: id, codec: codec, reason: reason)
        case .damaged(let reason): throw .unknownShape(id: id, reason: reason)
        }
      }
    }
  }

  extension FleetError {
    /// The codec that cannot read a payload; nil for another error.
    var codec: String? {
      switch self {
      case .unknownCodec(_, let codec), .undecodable(_, let codec, _): codec
      default: nil
      }
    }
  }

  /// Reads payloads for a run of a chain, which stops when no codec can read them: no step of it has failed.
  func readingPayloads<Value>(_ read: () async throws -> Value) async throws -> Value {
    do {
      return try await read()
    } catch let error as FleetError where error.codec != nil {
      throw HostFailure(error)
    }
  }
#endif
