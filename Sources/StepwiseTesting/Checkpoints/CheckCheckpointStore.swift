// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import StepwiseCheckpoints

/// Checks every promise of `CheckpointStore`: call it from a test of each store that you write.
///
/// ```swift
/// @Test func keepsThePromisesOfACheckpointStore() async throws {
///   let store = try TableStore(database)
///   try await checkCheckpointStore(store) { try TableStore(database) }
/// }
/// ```
///
/// Two of the promises are about time. An id that is held is refused at once: three attempts that each take longer than a
/// second break it. A lease that has a duration lasts that long, and as long again when it is renewed: give a store with
/// leases of a second or two, of which the check waits for some, or let the time of its clock pass by `passTime`. Without
/// `passTime`, leases of more than ten seconds are not checked for that.
///
/// All ids that it uses begin with `conformance`; it removes them in the end. Nobody else may use such ids meanwhile.
///
/// - Parameters:
///   - store: The store.
///   - timeLimit: How long a call of the store may take. One that takes longer is a violation, and is not waited for.
///   - reopen: Makes another store over the same table or directory, as another process would have; nil when there can be
///     none, as for a store in memory.
///   - passTime: Lets time pass for the store's leases; nil to wait.
/// - Throws: ``CheckpointStoreViolation``, which names the promise, or what the store throws where it should not.
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
  // Before all that rely on it.
  try await check.refusesAtOnce()
  try await check.givesOneLease()
  try await check.renewsLeases(passTime)
  try await check.fencesStaleLeases()
  try await check.countsFencesUp()
  try await check.removes()
  try await check.tellsIDsApart()
  try await check.refusesImpossibleIDs()
  try await check.listsInPages()
  try await check.servesManyAtOnce()
  if let reopen { try await check.isSeenByAnother(LimitedStore(base: try await reopen(), limit: timeLimit)) }
  try await check.removeAll()
}
