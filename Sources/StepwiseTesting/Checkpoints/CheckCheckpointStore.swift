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
/// One of the promises is about time: an id that is held is refused at once. Three attempts that each take longer than a
/// second break it.
///
/// All ids that it uses begin with `conformance`; it removes them in the end. Nobody else may use such ids meanwhile.
///
/// - Parameters:
///   - store: The store.
///   - reopen: Makes another store over the same table or directory, as another process would have; nil when there can be
///     none, as for a store in memory.
/// - Throws: ``CheckpointStoreViolation``, which names the promise, or what the store throws where it should not.
@concurrent
public func checkCheckpointStore(
  _ store: some CheckpointStore,
  reopen: (@Sendable () async throws -> any CheckpointStore)? = nil
) async throws {
  let check = StoreConformance(store: store)
  try await check.removeAll()
  try await check.keepsRecords()
  try await check.keepsTornRecords()
  try await check.showsWholeRecordsOnly()
  try await check.comparesVersions()
  try await check.letsOneSaveWin()
  try await check.givesOneLease()
  try await check.refusesAtOnce()
  try await check.fencesStaleLeases()
  try await check.countsFencesUp()
  try await check.removes()
  try await check.tellsIDsApart()
  try await check.refusesImpossibleIDs()
  try await check.listsInPages()
  try await check.servesManyAtOnce()
  if let reopen { try await check.isSeenByAnother(try await reopen()) }
  try await check.removeAll()
}
