// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CommandKit
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseFleet
  import StepwiseTracing

  /// How a fleet is doing: its jobs by name and state, its workers, and the last hour.
  struct FleetReport: Sendable {
    let names: [FleetNameStatus]
    let workers: [FleetWorkerStatus]
    let errors: [FleetErrorGroup]
    /// The last hour, by minute.
    let minutes: [FleetActivity]
    let began = ContinuousClock.now
    /// When the next report is due: a report counts all jobs, and keeps a connection of the database busy for at most a
    /// twentieth of the time.
    fileprivate(set) var nextDue: ContinuousClock.Instant

    /// Reads a report; with an earlier one, it reads only the minutes that are new.
    init(of fleet: Fleet, after earlier: FleetReport? = nil) async throws {
      names = try await fleet.names()
      workers = try await fleet.workers()
      errors = try await fleet.errors()
      let age = began - (earlier?.began ?? began - .seconds(3_480)) + .seconds(120)
      // The first minute that is read again may be incomplete.
      let all = ((earlier?.minutes ?? []) + (try await fleet.activity(within: min(age, .seconds(3_600)))))
        .map { ($0.start, $0) }
      let newest = all.last?.0 ?? .distantPast
      minutes = Dictionary(all) { $0.endedCount > $1.endedCount ? $0 : $1 }.values
        .filter { $0.start > newest.addingTimeInterval(-3_600) }.sorted { $0.start < $1.start }
      nextDue = .now + max(.seconds(2), (.now - began) * 19)
    }

    var nameTable: Table {
      let columns = ["name"] + FleetState.all.map(\.description) + ["oldest", "workers", "paused"]
      return Table(names.map(\.record), columns, else: "There are no jobs.")
    }

    var workerTable: Table {
      Table(workers.map(\.record), ["worker", "running", "lease"], else: "No worker has a lease.")
    }

    var errorTable: Table {
      Table(errors.map(\.record), ["count", "name", "failed", "error"], else: "No job has failed.")
    }

    var lines: [String] {
      let (done, failed) = minutes.reduce((0, 0)) { ($0.0 + $1.doneCount, $0.1 + $1.failedCount) }
      let last = minutes.last.map { ["The last minute of these:"] + Table.lines(of: $0.record) } ?? []
      return nameTable.lines + [""] + errorTable.lines + [""] + workerTable.lines
        + ["", "In the last hour: \(done) done, \(failed) failed."] + last
    }

    var json: JSON {
      .object([
        ("names", .list(names.map(\.record))), ("errors", .list(errors.map(\.record))),
        ("workers", .list(workers.map(\.record))),
        ("lastHour", .list(minutes.map(\.record))),
      ])
    }
  }

  extension FleetNameStatus {
    fileprivate var record: Record {
      [("name", .string(name)), ("paused", .flag(isPaused))]
        + FleetState.all.map { ("\($0)", .number(counts[$0] ?? 0)) }
        + [("oldest", .duration(oldestQueued)), ("workers", .number(workerCount))]
    }
  }

  extension FleetWorkerStatus {
    fileprivate var record: Record {
      [
        ("id", .number(Int(id))), ("worker", .string(name.isEmpty ? "\(id)" : name)),
        ("running", .number(runningCount)),
        ("registered", .time(registeredAt.timeIntervalSince1970)), ("lease", .duration(leaseRemaining)),
      ]
    }
  }

  extension FleetActivity {
    var endedCount: Int { doneCount + failedCount }

    var record: Record {
      [
        ("start", .time(start.timeIntervalSince1970)), ("done", .number(doneCount)), ("failed", .number(failedCount)),
        ("p50", .duration(median)), ("p99", .duration(percentile99)),
      ]
    }
  }

  extension FleetAttempt {
    var record: Record {
      [
        ("stage", .number(stage)), ("attempt", .number(number)), ("worker", .string(worker)),
        ("started", .time(startedAt.timeIntervalSince1970)), ("ended", .time(endedAt?.timeIntervalSince1970)),
        ("outcome", .string(outcome)), ("error", .string(error)),
      ]
    }
  }

  extension FleetErrorGroup {
    var record: Record {
      [
        ("count", .number(count)), ("name", .string(name)), ("failed", .time(lastFailedAt.timeIntervalSince1970)),
        ("error", .string(error)), ("example", .string(exampleID)),
      ]
    }
  }

  extension FleetSchedule {
    static let columns = ["schedule", "cron", "zone", "name", "next", "last"]

    var record: Record {
      [
        ("schedule", .string(name)), ("cron", .string(cron)), ("zone", .string(timeZone)),
        ("name", .string(progression)),
        ("next", .time(nextAt.timeIntervalSince1970)), ("last", .string(lastID)),
      ]
    }
  }

  /// The last report, which all open pages share.
  actor FleetSnapshots {
    nonisolated let fleet: Fleet
    private var report: FleetReport?
    private var refresh: Once<Result<FleetReport, any Error>>?

    init(_ fleet: Fleet) { self.fleet = fleet }

    /// Makes the next report due, because this process has changed something.
    func expire() { report?.nextDue = .now }

    /// Returns the last report, after a short wait for one that is due; nil when that takes longer and there is none
    /// that is worth showing.
    ///
    /// - Throws: The error of the database.
    func latest(waitingUpTo limit: Duration = .milliseconds(50)) async throws -> FleetReport? {
      if let report, refresh == nil, ContinuousClock.now < report.nextDue { return report }
      let refresh = refresh ?? Once()
      if self.refresh == nil {
        self.refresh = refresh
        _ = spawn { refresh.settle(await self.read()) }
      }
      await refresh.waitForValue(upTo: limit)
      if let result = refresh.settled { return try result.get() }
      return report.flatMap { ContinuousClock.now > $0.nextDue + .seconds(60) ? nil : $0 }
    }

    private func read() async -> Result<FleetReport, any Error> {
      let next = await Result.of { try await FleetReport(of: fleet, after: report) }
      if case .success(let next) = next { report = next }
      refresh = nil
      return next
    }
  }

  /// A job with what it has stored: the stages of a progression, or the steps of a chain.
  struct JobTimeline: Sendable {
    let status: FleetStatus
    let steps: [StoredSteps.Step]
    let attempts: [FleetAttempt]
    /// The codec that has encoded what was stored last; nil when it is not encoded.
    let codec: String?
    /// The signals that its steps could not read, as they are stored.
    let refusedSignals: [FleetRefusedSignal]

    /// Reads a job.
    ///
    /// - Throws: `CommandError` when there is none.
    init(of id: String, in fleet: Fleet) async throws {
      guard let status = try await fleet.status(of: id) else {
        throw CommandError("\(FleetError.notFound(id: id))", code: .notFound)
      }
      self.status = status
      refusedSignals = try await fleet.storedRefusedSignals(of: id)
      attempts = try await fleet.attempts(of: id)
      var start: String?
      if status.progression.namesChain {
        start = try await fleet.storedHistory(of: id).first?.json
        var run = StoredSteps()
        for (index, (entry, time)) in try await fleet.entries(of: id).enumerated() {
          run.apply(entry: entry, number: index + 1, at: time)
        }
        // The chain itself is a step around the others.
        steps = run.steps.filter { "chain \($0.name)" != status.progression }
      } else {
        steps = Self.stages(try await fleet.storedHistory(of: id), of: status)
      }
      let stored = steps.reversed().lazy.compactMap { $0.value.flatMap { EncodedPayload.codec(of: $0) } }.first
      codec = stored ?? start.flatMap { HostedStart.codec(of: $0) }
    }

    /// The state, and the codec of what is stored.
    var record: Record { status.record + [("codec", .string(codec))] }

    var attemptTable: Table {
      let names = ["attempt", "stage", "worker", "started", "ended", "outcome", "error"]
      return Table(attempts.map(\.record), names, else: "No worker has claimed it.")
    }

    /// The refused signals; their values, and the reasons, which may have parts of them, only if requested.
    func refusedTable(hasValues: Bool) -> Table {
      let records = refusedSignals.map { signal -> Record in
        let values: Record = hasValues ? [("reason", .value(signal.reason)), ("value", .value(signal.json))] : []
        return [("refused signal", .string(signal.name)), ("sent", .time(signal.sentAt.timeIntervalSince1970))] + values
      }
      return Table(records, ["refused signal", "sent"] + (hasValues ? ["reason", "value"] : []), else: "")
    }

    /// A stage lasts until the next one is stored; the last one of a job that is done is its result.
    private static func stages(_ stages: [FleetStageRecord], of job: FleetStatus) -> [StoredSteps.Step] {
      zip(stages, stages.dropFirst().map { $0 as FleetStageRecord? } + [nil]).map { stage, next in
        // A text may be a value.
        let name = stage.json.hasPrefix("{") ? CheckpointSummary.name(ofStage: Array(stage.json.utf8)) : nil
        let hidden = next.map { $0.number - stage.number - 1 } ?? 0
        return StoredSteps.Step(
          name: (name ?? "stage \(stage.number)") + (hidden > 0 ? " and \(hidden) more" : ""),
          state: next != nil ? "done" : "\(job.state)",
          error: next == nil ? job.error : nil,
          value: EncodedPayload.bytes(of: stage.json),
          start: (stage.number == 1 ? job.startedAt : stage.savedAt)?.timeIntervalSince1970,
          end: (next?.savedAt ?? job.endedAt)?.timeIntervalSince1970
        )
      }
    }

    /// The job as a run, with the wait for a worker and the parts as its steps.
    var trace: RunTrace {
      let (now, origin) = (Date().timeIntervalSince1970, status.enqueuedAt.timeIntervalSince1970)
      let started = (status.startedAt ?? status.endedAt)?.timeIntervalSince1970 ?? now
      let end = max(status.endedAt?.timeIntervalSince1970 ?? now, origin)
      func span(_ kind: RunTrace.Kind, _ step: StoredSteps.Step, _ children: [RunTrace.Span] = []) -> RunTrace.Span {
        let (start, isOver) = (step.start ?? started, step.state == "done" || step.state == "undone")
        return RunTrace.Span(
          kind,
          step.name,
          start: .seconds(max(0, start - origin)),
          duration: .seconds(max(0, (step.end ?? end) - start)),
          attempt: isOver || kind == .run ? 1 : max(1, status.attempt),
          status: isOver ? .succeeded : RunTrace.Status(rawValue: step.state),
          detail: isOver ? nil : step.error,
          isUndone: step.state == "undone",
          children: children
        )
      }
      let wait = StoredSteps.Step(name: "before its start", state: "done", start: origin, end: started)
      let parts = ([wait] + (status.startedAt == nil ? [] : steps)).map { span(.step, $0) }
      let error = status.error ?? status.cancellationReason
      let run = StoredSteps.Step(name: status.progression, state: "\(status.state)", error: error, start: origin)
      return RunTrace(runs: [span(.run, run, parts)])
    }
  }

  extension FleetStatus {
    var isCancelling: Bool { isCancellationRequested && !state.isFinal }

    /// What a retry does; nil for a job that has none.
    var retryEffect: String? {
      if !isRequeueable { return nil }
      if isUndone { return "starts a new run with its input: it has undone its steps" }
      return progression.namesChain
        ? "continues the run, whose completed steps are kept" : "runs stage \(stageCount) again"
    }

    var record: Record {
      [
        ("id", .string(id)), ("name", .string(progression)), ("state", .string("\(state)")),
        ("waitsFor", .string(wait?.description)), ("since", .time(wait?.since.timeIntervalSince1970)),
        ("until", .time(wait?.until?.timeIntervalSince1970)), ("paused", .flag(isPaused || pausedAt != nil)),
        ("stage", .number(stageCount)), ("attempt", .number(attempt)),
        ("priority", .number(priority)), ("key", .string(key)),
        ("tags", .string(tags.isEmpty ? nil : tags.joined(separator: ", "))), ("parent", .string(parent)),
        ("worker", .number(worker.map(Int.init))), ("error", .string(error)), ("note", .string(note)),
        ("retry", .string(retryEffect)), ("cancelling", .flag(isCancelling)),
        ("reason", .string(cancellationReason)), ("enqueued", .time(enqueuedAt.timeIntervalSince1970)),
        ("due", .time(dueAt?.timeIntervalSince1970)), ("started", .time(startedAt?.timeIntervalSince1970)),
        ("ended", .time(endedAt?.timeIntervalSince1970)),
      ]
    }
  }
#endif
