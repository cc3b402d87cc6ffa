// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A store that encodes what another store holds, for example by encryption.
///
/// Use this when the files or the database of a store may be read by others, or when stages are large. Stages, inputs, and
/// what a durable chain has stored of its steps are encoded, with the names of steps and the texts of errors. Ids, the names
/// of types and chains, versions and sizes are not.
///
/// ```swift
/// let store = EncodedCheckpointStore(files, codec: codec)
/// let receipt = try await order.run(cart, id: "order-7", in: store)
/// ```
///
/// To change the key or the algorithm, create a codec with another name and move the old one to `previous`. What was stored
/// is decoded by the codec that it names. What was stored without a codec is read as it is. The next save replaces the
/// payload of a progression; the entries of a durable run keep their codecs.
///
/// A payload that cannot be encoded is not stored, and the step that has returned it fails with
/// ``CheckpointError/unstorable(id:location:step:reason:)``. A payload that cannot be decoded stops the run. Nothing is undone
/// then, what is stored stays, and you can resume the id with the right codec.
public struct EncodedCheckpointStore: CheckpointStore {
  let base: any CheckpointStore
  let codecs: PayloadCodecs

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - base: The store that holds what is encoded.
  ///   - codec: Encodes what is stored, and decodes it.
  ///   - previous: Decode what earlier codecs have encoded; of two codecs with the same name, the first one is used.
  public init(_ base: some CheckpointStore, codec: PayloadCodec, previous: [PayloadCodec] = []) {
    (self.base, codecs) = (base, PayloadCodecs(codec, previous: previous))
  }

  /// Acquires the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease { try await base.acquire(id) }

  /// Extends a lease.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    try await base.renew(lease)
  }

  /// Releases a lease.
  @concurrent public func release(_ lease: CheckpointLease) async throws { try await base.release(lease) }

  /// Releases a lease.
  public func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(lease) }

  /// Loads and decodes the last saved record.
  ///
  /// - Throws: ``CheckpointError/unknownCodec(id:location:codec:)`` when it was encoded by a codec that this store does not
  ///   have, ``CheckpointError/undecodable(id:location:codec:reason:)`` when the codec throws an error.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? {
    guard let record = try await base.load(id) else { return nil }
    guard record.isIntact else {
      let reason = "its checksum does not match its content"
      throw CheckpointError.damaged(id: id, location: location(of: id), reason: reason)
    }
    do {
      return record.replacing(first: try decode(record.first, id), stage: try decode(stage: record.stage, id))
    } catch let error as DataError {
      throw CheckpointError.damaged(id: id, location: location(of: id), reason: error.reason)
    }
  }

  /// Encodes a record, and replaces that of its id if its version is the expected one.
  @concurrent public func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    var encoded = record.replacing(first: try encode(record.first, lease), stage: try encode(record.stage, lease))
    // A damaged record stays one.
    encoded.checksumDifference = record.checksumDifference
    try await base.save(encoded, ifVersionIs: version, under: lease)
  }

  /// Encodes an entry, and appends it to the record of an id if its version is the expected one.
  @concurrent public func append(
    _ entry: [UInt8],
    ifVersionIs version: UInt64,
    under lease: CheckpointLease
  ) async throws {
    try await base.append(encode(entry, lease), ifVersionIs: version, under: lease)
  }

  /// Removes the record of an id.
  @concurrent public func remove(_ id: String) async throws { try await base.remove(id) }

  /// Lists the ids that have a record.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    try await base.list(after: last, limit: limit)
  }

  /// Returns the location of an id in the store that holds what is encoded.
  public func location(of id: String) -> String { base.location(of: id) }
}

// MARK: - Payloads

extension EncodedCheckpointStore {
  private func encode(_ payload: [UInt8], _ lease: CheckpointLease) throws(CheckpointError) -> [UInt8] {
    do {
      return try codecs.encode(payload)
    } catch {
      throw .unencodable(id: lease.id, location: location(of: lease.id), reason: error.reason)
    }
  }

  private func decode(_ bytes: [UInt8], _ id: String) throws -> [UInt8] {
    try naming(id) { () throws(PayloadCodecs.Failure) in try codecs.decode(bytes) }
  }

  /// Decodes what was saved as a stage, and the entries that were appended.
  private func decode(stage: [UInt8], _ id: String) throws -> [UInt8] {
    var reader = ByteReader(stage)
    var decoded: [UInt8] = []
    if let payload = try EncodedPayload(from: &reader) {
      decoded = try decode(payload, id)
    } else if (try? CheckpointEntries.entries(in: stage)) == nil {
      // A stage, or entries of which the last one is damaged, which the reader of the record finds.
      return stage
    }
    for entry in try CheckpointEntries.entries(in: Array(reader.rest)) {
      decoded += CheckpointEntries.bytes(of: try decode(entry, id))
    }
    return decoded
  }

  private func decode(_ payload: EncodedPayload, _ id: String) throws -> [UInt8] {
    try naming(id) { () throws(PayloadCodecs.Failure) in try codecs.decode(payload) }
  }

  private func naming(_ id: String, _ decode: () throws(PayloadCodecs.Failure) -> [UInt8]) throws -> [UInt8] {
    do {
      return try decode()
    } catch .unknown(let codec) {
      throw CheckpointError.unknownCodec(id: id, location: location(of: id), codec: codec)
    } catch .undecodable(let codec, let reason) {
      throw CheckpointError.undecodable(id: id, location: location(of: id), codec: codec, reason: reason)
    } catch .damaged(let reason) {
      throw DataError(reason: reason)
    }
  }
}

extension DurableRun {
  /// Encodes a payload as the store or the host does, so that a step whose value the codec cannot encode fails.
  func checkCodec(_ payload: [UInt8]) throws(DataError) {
    let codecs = settings.host?.codecs ?? (store as? EncodedCheckpointStore)?.codecs
    _ = try codecs?.encode(payload)
  }
}
