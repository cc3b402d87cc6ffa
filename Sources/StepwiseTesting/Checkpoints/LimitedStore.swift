// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

/// Wraps a store under test; a call that exceeds the time limit is a violation.
struct LimitedStore: CheckpointStore {
  let base: any CheckpointStore
  /// The time limit for a call.
  let limit: Duration

  @concurrent func acquire(_ id: String) async throws -> CheckpointLease {
    try await limited("acquire") { try await base.acquire(id) }
  }

  @concurrent func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    try await limited("renew") { try await base.renew(lease) }
  }

  @concurrent func release(_ lease: CheckpointLease) async throws {
    try await limited("release") { try await base.release(lease) }
  }

  func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(lease) }

  @concurrent func load(_ id: String) async throws -> CheckpointRecord? {
    try await limited("load") { try await base.load(id) }
  }

  @concurrent func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    try await limited("save") { try await base.save(record, ifVersionIs: version, under: lease) }
  }

  @concurrent func remove(_ id: String) async throws {
    try await limited("remove") { try await base.remove(id) }
  }

  @concurrent func list(after last: String?, limit count: Int) async throws -> CheckpointPage {
    try await limited("list") { try await base.list(after: last, limit: count) }
  }

  func location(of id: String) -> String { base.location(of: id) }

  /// Does not await a call that exceeds the time limit, because it may never return.
  private func limited<Value: Sendable>(
    _ name: String,
    _ call: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let outcome = Once<Result<Value, any Error>>()
    let work = spawn {
      do { outcome.settle(.success(try await call())) } catch { outcome.settle(.failure(error)) }
    }
    let timer = spawn {
      // In ten parts, so that on a busy machine the call gets its share of time before the limit is reached.
      for _ in 0..<10 where (try? await Task.sleep(for: limit / 10)) == nil { return }
      let detail = "\(name) did not return within \(limit)"
      outcome.settle(.failure(CheckpointStoreViolation(rule: "Every call returns in time", detail: detail)))
    }
    defer { timer.cancel() }
    guard let result = await outcome.value() else {
      work.cancel()
      throw CancellationError()
    }
    return try result.get()
  }
}
