// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  @testable import StepwiseFleet

  /// A fleet of modelled workers over a modelled database, whose statements are delayed, lost after they ran, and repeated.
  struct ModelledFleet {
    enum Statement {
      case claim(worker: Int64, known: [Int64]?, count: Int)
      case save(id: String, fence: Int64, version: Int64, isLast: Bool)
      case settle(id: String, fence: Int64, Ending)
    }

    /// A job in a worker: the version of the stage that runs or ran.
    struct Run {
      let id: String
      var version: Int64
      /// What the worker sends, and sends again while no answer comes.
      var pending: Statement?

      /// Whether the job has run, and its end is being stored.
      var isEnding: Bool {
        switch pending {
        case .save(_, _, _, isLast: true), .settle: true
        default: false
        }
      }
    }

    struct Node {
      var machine = WorkerMachine(slots: 2)
      var runs: [Int64: Run] = [:]
      var isClaiming = false
    }

    struct Sent {
      /// Nil once the worker no longer waits: it died, or its connection broke.
      var node: Int?
      let statement: Statement
    }

    static let lastVersion: Int64 = 3
    static let maxAttempts = 3

    var database = FleetModel()
    var nodes: [Node]
    var sent: [Sent] = []
    var generator: SeededGenerator
    var nextWorker: Int64 = 0
    var violations: [String] = []
    /// How often the stage of a version ran.
    var executions: [String: Int] = [:]
    /// How often the save of a version changed the database.
    var commits: [String: Int] = [:]
    var disturbances = 0

    init(seed: UInt64, nodes: Int, jobs: Int) {
      generator = SeededGenerator(seed: seed)
      self.nodes = Array(repeating: Node(), count: nodes)
      for job in 0..<jobs { _ = database.enqueue("\(job)", priority: Int.random(in: 0...1, using: &generator)) }
    }

    /// Does one random thing; without faults only what a fleet does that nothing disturbs.
    mutating func step(withFaults: Bool) {
      let before = database
      let node = Int.random(in: nodes.indices, using: &generator)
      switch Int.random(in: 0..<(withFaults ? 17 : 9), using: &generator) {
      case 0: register(node)
      case 1: claim(node)
      case 2, 3: advance(node)
      case 4, 5, 6: if let index = sent.indices.randomElement(using: &generator) { execute(index) }
      case 7: _ = database.sweep()
      case 8: notice(node)
      case 9: abandon()
      case 10: crash(node)
      case 11: if let worker = database.workers.keys.sorted().randomElement(using: &generator) { expire(worker) }
      case 12: lose(node)
      case 13: cancel(node)
      case 14: fail(node)
      case 15: suspend(node)
      default: drain(node)
      }
      check(since: before)
    }

    private mutating func register(_ node: Int) {
      guard nodes[node].machine.worker == nil, !nodes[node].machine.isDraining else { return }
      nextWorker += 1
      database.register(nextWorker)
      nodes[node].machine.registered(nextWorker)
    }

    private mutating func claim(_ node: Int) {
      guard !nodes[node].isClaiming, let (worker, count) = nodes[node].machine.claimable() else { return }
      nodes[node].isClaiming = true
      let known = nodes[node].machine.claimSent()
      sent.append(Sent(node: node, statement: .claim(worker: worker, known: known, count: count)))
    }

    /// Runs the stage of one job of the node, or sends again what has no answer.
    private mutating func advance(_ node: Int) {
      guard let fence = nodes[node].runs.keys.sorted().randomElement(using: &generator),
        let run = nodes[node].runs[fence]
      else { return }
      if let pending = run.pending {
        if !sent.contains(where: { $0.node == node && Self.fence(of: $0.statement) == fence }) {
          sent.append(Sent(node: node, statement: pending))
        }
        return
      }
      switch nodes[node].machine.interruption(of: fence) {
      case .loss: end(node, fence)
      case .cancellation: settle(node, fence, Ending(state: .cancelled))
      case .drain: settle(node, fence, Ending(state: .queued, isUncounted: true))
      case nil where nodes[node].machine.isDraining: settle(node, fence, Ending(state: .queued, isUncounted: true))
      case nil:
        executions["\(run.id).\(run.version)", default: 0] += 1
        let version = run.version + 1
        send(node, fence, .save(id: run.id, fence: fence, version: version, isLast: version == Self.lastVersion))
      }
    }

    private mutating func settle(_ node: Int, _ fence: Int64, _ ending: Ending) {
      guard let run = nodes[node].runs[fence] else { return }
      send(node, fence, .settle(id: run.id, fence: fence, ending))
    }

    private mutating func send(_ node: Int, _ fence: Int64, _ statement: Statement) {
      nodes[node].runs[fence]?.pending = statement
      if nodes[node].runs[fence]?.isEnding == true { nodes[node].machine.ending(fence) }
      sent.append(Sent(node: node, statement: statement))
    }

    private mutating func end(_ node: Int, _ fence: Int64) {
      nodes[node].runs[fence] = nil
      nodes[node].machine.ended(fence)
    }

    /// The database runs a statement, and the worker, if it still waits, has the answer.
    private mutating func execute(_ index: Int) {
      let (node, statement) = (sent[index].node, sent[index].statement)
      sent.remove(at: index)
      switch statement {
      case .claim(let worker, let known, let count):
        let claimed = database.claim(count, as: worker, knowing: known, maxAttempts: Self.maxAttempts)
        guard let node else { return }
        nodes[node].isClaiming = false
        nodes[node].machine.claimOver(isAnswered: true)
        let started = nodes[node].machine.claimed(
          claimed.map { (fence: $0.fence, id: $0.id, isCancellationRequested: $0.isCancellationRequested) },
          by: worker
        )
        for job in claimed where started?.contains(job.fence) == true {
          nodes[node].runs[job.fence] = Run(id: job.id, version: database.jobs[job.id]?.version ?? 0)
        }
      case .save(let id, let fence, let version, let isLast):
        let before = database.jobs[id]?.version
        let isSaved = database.save(id, fence: fence, version: version, isLast: isLast)
        if database.jobs[id]?.version != before {
          commits["\(id).\(version)", default: 0] += 1
          if database.jobs[id]?.fence != fence { violations.append("job \(id) was saved under a lost fencing number") }
        }
        guard let node, nodes[node].runs[fence] != nil else { return }
        nodes[node].runs[fence]?.pending = nil
        nodes[node].runs[fence]?.version = version
        if !isSaved || isLast { end(node, fence) }
      case .settle(let id, let fence, let ending):
        _ = database.settle(id, fence: fence, ending)
        if let node, nodes[node].runs[fence] != nil { end(node, fence) }
      }
    }

    /// The worker's heartbeat: it hears whether its lease is over, which of its jobs are cancelled, and what it does not know.
    private mutating func notice(_ node: Int) {
      guard let worker = nodes[node].machine.worker else { return }
      if !database.renew(worker) { return lose(node) }
      nodes[node].machine.found(database.jobs.values.filter { $0.worker == worker }.map(\.fence))
      for (id, job) in database.jobs where job.worker == worker && job.isCancellationRequested {
        _ = nodes[node].machine.cancellationRequested(of: id)
      }
    }

    /// A connection breaks: the statement may run later anyway, and the worker sends it again.
    private mutating func abandon() {
      guard let index = sent.indices.randomElement(using: &generator), let node = sent[index].node else { return }
      disturbances += 1
      sent[index].node = nil
      guard case .claim = sent[index].statement else { return }
      nodes[node].isClaiming = false
      nodes[node].machine.claimOver(isAnswered: false)
    }

    private mutating func crash(_ node: Int) {
      disturbances += 1
      for index in sent.indices where sent[index].node == node { sent[index].node = nil }
      nodes[node] = Node()
    }

    private mutating func expire(_ worker: Int64) {
      disturbances += 1
      database.expire(worker)
    }

    private mutating func lose(_ node: Int) {
      disturbances += 1
      _ = nodes[node].machine.lost()
    }

    private mutating func cancel(_ node: Int) {
      // Seldom, as few jobs would get far otherwise.
      guard Int.random(in: 0..<8, using: &generator) == 0 else { return }
      guard let id = database.jobs.keys.sorted().randomElement(using: &generator) else { return }
      if database.cancel(id), Bool.random(using: &generator) { _ = nodes[node].machine.cancellationRequested(of: id) }
    }

    private mutating func fail(_ node: Int) {
      guard let (fence, run) = idleRun(node) else { return }
      disturbances += 1
      executions["\(run.id).\(run.version)", default: 0] += 1
      let attempt = database.jobs[run.id]?.attempt ?? 0
      settle(node, fence, Ending(state: attempt < Self.maxAttempts ? .queued : .failed))
    }

    private mutating func suspend(_ node: Int) {
      guard let (fence, run) = idleRun(node) else { return }
      disturbances += 1
      executions["\(run.id).\(run.version)", default: 0] += 1
      // A parent waits for jobs with lower numbers only, so that none waits for itself.
      let children = database.jobs.keys.filter { $0 < run.id }
      settle(node, fence, Ending(state: .waiting, waitsFor: children, isUncounted: true))
    }

    private func idleRun(_ node: Int) -> (Int64, Run)? {
      nodes[node].runs.sorted { $0.key < $1.key }.first {
        $0.value.pending == nil && nodes[node].machine.interruption(of: $0.key) == nil
      }.map { ($0.key, $0.value) }
    }

    private mutating func drain(_ node: Int) {
      disturbances += 1
      nodes[node].machine.drain()
      if Bool.random(using: &generator) { _ = nodes[node].machine.drainTimedOut() }
    }

    static func fence(of statement: Statement) -> Int64? {
      switch statement {
      case .claim: nil
      case .save(_, let fence, _, _), .settle(_, let fence, _): fence
      }
    }

    /// What holds after each step.
    private mutating func check(since before: FleetModel) {
      for (id, job) in database.jobs {
        guard let old = before.jobs[id] else { continue }
        if old.state.isFinal, job != old { violations.append("job \(id) changed after its end") }
        if job.version < old.version || job.version > old.version + 1 { violations.append("job \(id) skipped a stage") }
        if job.fence < old.fence { violations.append("job \(id) has an older fencing number") }
        if old.isCancellationRequested, [.failed, .queued, .scheduled, .waiting].contains(job.state) {
          violations.append("job \(id) continues after it was cancelled")
        }
        if (job.state == .running) != (job.worker != nil) {
          violations.append("job \(id) has a worker and does not run")
        }
        if job.attempt < 0 { violations.append("job \(id) has a negative attempt") }
      }
      for node in nodes where node.runs.count(where: { !$0.value.isEnding }) > node.machine.slots {
        violations.append("a worker runs too much")
      }
      if let repeated = commits.first(where: { $0.value > 1 }) {
        violations.append("stage \(repeated.key) was committed twice")
      }
      if let repeated = executions.first(where: { $0.value > 1 + disturbances }) {
        violations.append("stage \(repeated.key) ran \(repeated.value) times after \(disturbances) disturbances")
      }
    }
  }
#endif
