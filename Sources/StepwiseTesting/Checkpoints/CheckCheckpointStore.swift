// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import StepwiseCheckpoints

/// Checks every guarantee of `CheckpointStore`; call it from a test of each store that you write.
///
/// ```swift
/// @Test func `A store keeps the promises of a checkpoint store`() async throws {
///   let store = try TableStore(database)
///   try await checkCheckpointStore(store) { try TableStore(database) }
/// }
/// ```
///
/// Two of the guarantees concern time. Acquiring a held id throws without waiting: three attempts that each take longer
/// than a second violate this. A lease with a duration lasts that long, and equally long after each renewal. Use a
/// store whose leases last a second or two, for which the check waits, or advance the store's clock in `passTime`.
/// Without `passTime`, leases longer than ten seconds are not checked for this.
///
/// All ids that the check uses start with `conformance`, and it removes them at the end. Do not use such ids while it
/// runs.
///
/// - Parameters:
///   - store: The store.
///   - timeLimit: The time limit for a call of the store. A call that exceeds it is a violation and is not awaited.
///   - reopen: Creates another store on the same table or directory, as another process would; nil when that is
///     impossible, for example for a store in memory.
///   - passTime: Lets time pass for the store's leases; nil to wait.
/// - Throws: ``CheckpointStoreViolation``, which names the guarantee, or an unexpected error of the store.
@concurrent
public func checkCheckpointStore(
  _ store: some CheckpointStore,
  timeLimit: Duration = .seconds(30),
  reopen: (@Sendable () async throws -> any CheckpointStore)? = nil,
  passTime: (@Sendable (Duration) async throws -> Void)? = nil
) async throws {
  let check = StoreConformance(store: LimitedStore(base: store, limit: timeLimit))
  try await check.removeAll()
  try await check.keepsRecords()
  try await check.keepsTornRecords()
  try await check.showsWholeRecordsOnly()
  try await check.comparesVersions()
  try await check.letsOneSaveWin()
  try await check.appendsEntries()
  // First, because all other checks rely on it.
  try await check.refusesAtOnce()
  try await check.givesOneLease()
  try await check.renewsLeases(passTime)
  try await check.fencesStaleLeases()
  try await check.countsFencesUp()
  try await check.worksInCancelledTasks()
  try await check.removes()
  try await check.tellsIDsApart()
  try await check.refusesImpossibleIDs()
  try await check.listsInPages()
  try await check.servesManyAtOnce()
  if let reopen { try await check.isSeenByAnother(LimitedStore(base: try await reopen(), limit: timeLimit)) }
  try await check.removeAll()
}

/// A guarantee of `CheckpointStore` that a store violates.
///
/// Its description says which guarantee your store breaks, and what the check saw.
public struct CheckpointStoreViolation: Error, Sendable, CustomStringConvertible {
  /// The guarantee.
  public let rule: String

  /// What happened instead.
  public let detail: String

  /// The guarantee, and what happened instead.
  public var description: String { "\(rule): \(detail)" }
}
