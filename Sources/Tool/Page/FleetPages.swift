// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseFleet
  import StepwiseTracing

  /// The content of the pages.
  struct FleetPages: Sendable {
    let hasValues: Bool
    let isReadOnly: Bool

    /// How many jobs are in each state, the last hour, the workers, what failed and why, and the schedules.
    func overview(
      _ report: FleetReport?,
      running: [FleetStatus],
      failed: [FleetStatus],
      schedules: [FleetSchedule]
    ) -> HTML {
      let failures = Table(failed.map(\.record), ["id", "name", "stage", "ended", "error"], else: "None.")
      let errors = report?.errors ?? []
      let times = Table(schedules.map(\.record), FleetSchedule.columns, else: "There are no schedules.")
      let retryAll = { (row: Int) -> HTML in
        button("bulk", [("action", "retry")] + Self.filter(of: errors[row]), label: "Retry all")
      }
      return """
        \(report.map { counts($0, Dictionary(grouping: running) { $0.worker }) } ?? .note("Counting the jobs…"))
        <section><h2>Errors of failed jobs</h2>
        \(.table(report?.errorTable ?? Table([], [], else: "Counting the jobs…"), last: ("", retryAll)) { row, name, value in
          guard name == "count" else { return nil }
          let query = query(Dictionary(Self.filter(of: errors[row])) { $1 })
          return "<a href=\"jobs?\(query)\">\(errors[row].count.formatted())</a>"
        })</section>
        <section><h2>Failed jobs</h2>
        \(.table(failures, last: ("", { button("retry", [("id", failed[$0].id)], label: failed[$0].retryLabel) })))</section>
        <section><h2>Schedules</h2>
        \(.table(times, last: ("", { button("run", [("name", schedules[$0].name)], label: "Run now") })))</section>
        """
    }

    /// The filter of the jobs of a group.
    private static func filter(of group: FleetErrorGroup) -> [(String, String)] {
      [("state", "failed"), ("name", group.name), ("error", group.error)]
    }

    /// A form with a button that changes something; none on a page that is read-only.
    private func button(
      _ action: String,
      _ fields: [(String, String)],
      label: String? = nil,
      question: String? = nil
    ) -> HTML {
      isReadOnly ? "" : .button(action, fields, label: label ?? action.capitalized, question: question)
    }

    /// The changes by filter that were started here, with their progress.
    func changes(_ changes: [FleetChanges.Change]) -> HTML? {
      guard !changes.isEmpty else { return nil }
      let rows = changes.map { change -> HTML in
        let progress = change.progress.withLock { $0 }
        let numbers = "\(progress.changedCount.formatted()) of \(progress.applicableCount.formatted()) jobs"
        let failure = change.end.settled.flatMap { result -> String? in
          if case .failure(let error) = result { "\(error)" } else { nil }
        }
        let state = change.end.settled == nil ? "" : failure == nil ? ", done" : ", stopped"
        return """
          <p>\(change.title): \(numbers)\(state)
          <progress value="\(progress.changedCount)" max="\(max(1, progress.applicableCount))" aria-label="Progress"></progress>
          \(failure.map { "<span class=\"error\">\($0)</span>" } as HTML?)</p>
          """
      }
      return "<section><h2>Changes</h2>\(rows)</section>"
    }

    /// The fields of a filter, as a query.
    func query(_ fields: [String: String]) -> String {
      FleetFilter.names.compactMap { name in
        fields[name]?.nonEmpty.map { "\(name)=\(FormEncoding.encoded($0))" }
      }.joined(separator: "&")
    }

    /// What a filter matches, in words.
    func title(of fields: [String: String]) -> String {
      let filters = FleetFilter.names.compactMap { name in fields[name]?.nonEmpty.map { "\(name) \($0)" } }
      return filters.isEmpty ? "all jobs" : "jobs: " + filters.joined(separator: ", ")
    }

    /// What a change by filter would change, and the button that starts it.
    func confirmation(_ title: String, _ count: FleetProgress, _ fields: [String: String]) -> HTML {
      let label = "\((fields["action"] ?? "").capitalized) \(count.applicableCount.formatted()) jobs"
      return """
        <h1>\(title)</h1><section><p>The filter matches \(count.matchedCount.formatted()) jobs.
        \(count.refusal.map { "\($0), and stay as they are." } ?? "")</p>
        \(button("bulk", fields.filter { $0.key != "sure" }.sorted { $0.key < $1.key } + [("sure", "yes")], label: label))
        <p><a href="jobs?\(query(fields))">Show the jobs</a></p></section>
        """
    }

    /// Why a change by filter is refused; with fields, and a button that permits all jobs.
    func refusal(_ reason: String, _ fields: [String: String]?) -> HTML {
      let permit = fields.map { fields in
        button("bulk", fields.sorted { $0.key < $1.key } + [("all", "yes")], label: "Permit all jobs")
      }
      return "<p>\(reason.prefix(1).uppercased() + reason.dropFirst()).</p>\(permit)"
    }

    private func counts(_ report: FleetReport, _ jobs: [Int64?: [FleetStatus]]) -> HTML {
      let states = Set(FleetState.all.map(\.description))
      let names = HTML.table(
        report.nameTable,
        last: ("", { button(report.names[$0].isPaused ? "resume" : "pause", [("name", report.names[$0].name)]) })
      ) { row, state, count in
        guard states.contains(state), case .number(let count?) = count, count > 0 else { return nil }
        let query = "state=\(state)&name=\(FormEncoding.encoded(report.names[row].name))"
        return "<a href=\"jobs?\(query)\">\(count.formatted())</a>"
      }
      let links = { (row: Int) -> HTML in
        let shown = (jobs[report.workers[row].id] ?? []).prefix(4).map { "\(.link(to: $0.id)) " as HTML }
        let more = report.workers[row].runningCount - shown.count
        return "\(shown)\(more > 0 ? "<a href=\"jobs?state=running\">\(more) more</a>" : nil)"
      }
      return """
        <section><h2>Jobs by name</h2>\(names)
        <p><a href="jobs?state=queued,scheduled,waiting,running">What the jobs wait for that have not ended</a></p>
        \(.note("Counted \(JSON.age((.now - report.began) / .seconds(1))) ago."))</section>
        <section><h2>Last hour</h2>\(Self.chart(report.minutes))</section>
        <section><h2>Workers</h2>\(.table(report.workerTable, last: ("jobs", links)))</section>
        """
    }

    /// A page of jobs.
    func jobs(_ page: FleetPage, _ fields: [String: String]) -> HTML {
      let title = title(of: fields)
      let next = page.next.map { next -> HTML in
        let query = [query(fields), "after=\(FormEncoding.encoded(next))"].filter { !$0.isEmpty }
        return "<p><a href=\"jobs?\(query.joined(separator: "&"))\">Next page</a></p>"
      }
      return """
        <h1>\(title.prefix(1).uppercased() + title.dropFirst())</h1>\(filter(fields))
        \(page.jobs.isEmpty || isReadOnly ? nil : bulk(fields))
        <section>\(.table(page.table))</section>\(next)
        """
    }

    /// The form that narrows the jobs; the state and the search are in the head of the page.
    private func filter(_ fields: [String: String]) -> HTML {
      func value(_ name: String) -> String { fields[name] ?? "" }
      let hidden = ["state", "search"].filter { !value($0).isEmpty }.map { name -> HTML in
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(value(name))\">"
      }
      let inputs = ["name", "key", "tag", "error"].map { name -> HTML in
        "<label>\(name) <input name=\"\(name)\" value=\"\(value(name))\"></label>"
      }
      return """
        <section><form class="bulk" action="jobs">\(hidden)\(inputs)
        <label>older than <input name="older-than" placeholder="7d" value="\(value("older-than"))"></label>
        <button>Filter</button></form></section>
        """
    }

    /// The form that changes all jobs of a filter.
    private func bulk(_ fields: [String: String]) -> HTML {
      let hidden = FleetFilter.names.compactMap { name -> HTML? in
        fields[name]?.nonEmpty.map { "<input type=\"hidden\" name=\"\(name)\" value=\"\($0)\">" }
      }
      let actions = ["retry", "cancel", "prioritize", "prune"].map { "<option>\($0)</option>" as HTML }
      return """
        <section><form class="bulk" method="post" action="bulk">\(hidden)<label>With all of these:
        <select name="action">\(actions)</select></label>
        <label>priority <input type="number" name="priority" value="0"></label><button>Count them…</button></form></section>
        """
    }

    /// One job, with its stages or steps as a timeline.
    func job(_ job: JobTimeline) -> HTML {
      let status = job.status
      let fields = job.record.filter {
        !["id", "state", "error", "waitsFor", "tags", "retry"].contains($0.name) && $0.value.brief != nil
      }
      let table = Table(fields.map { [("name", .string($0.name)), ("value", $0.value)] }, ["name", "value"], else: "")
      let steps = job.steps.map { $0.record(hasValue: hasValues) }
      let refused: HTML? =
        job.refusedSignals.isEmpty ? nil : "<section>\(.table(job.refusedTable(hasValues: hasValues)))</section>"
      let links = status.tags.map { "<a href=\"jobs?tag=\(FormEncoding.encoded($0))\">\($0)</a> " as HTML }
      let tags: HTML? = links.isEmpty ? nil : "<p>Tags: \(links)</p>"
      let wait = status.wait.map { wait -> HTML in
        let until = wait.until.map { ", until \(JSON.time($0.timeIntervalSince1970).plain ?? "")" } ?? ""
        let age = JSON.age(Date().timeIntervalSince(wait.since))
        return "<p class=\"wait\">It waits for \(wait.description), for \(age) so far\(until).</p>"
      }
      return """
        <h1>\(status.id) \(.badge("\(status.state)"))</h1>\(wait)\(tags)<div class="buttons">\(buttons(status))</div>
        \(status.error.map { "<p class=\"error\">\($0)</p>" } as HTML?)
        <section class="timeline">\(HTML(trusted: job.trace.svg))</section>
        <section><h2>Attempts</h2>\(.table(job.attemptTable))</section><section>
        \(.table(table) { row, name, value in name == "value" ? .value(fields[row].name, value) : nil })</section>
        <section>\(.table(.steps(steps)))</section>\(refused)
        """
    }

    private func buttons(_ status: FleetStatus) -> [HTML] {
      let id = [("id", status.id)]
      if status.isRequeueable {
        let undo =
          status.isCancellable ? button("cancel", id, label: "Undo", question: "Undo its completed steps?") : ""
        let note = isReadOnly ? nil : status.retryEffect.map { HTML.note("A retry \($0).") }
        return [button("retry", id, label: status.retryLabel), undo, note ?? ""]
      }
      if status.state.isFinal { return [] }
      let pause = status.pausedAt == nil ? "pause" : "resume"
      return [button("cancel", id, question: "Cancel this job?")] + (status.isCancelling ? [] : [button(pause, id)])
    }

    /// The jobs that ended in each minute of the last hour, and how long they took.
    private static func chart(_ minutes: [FleetActivity]) -> HTML {
      let first = (Date().timeIntervalSince1970 / 60).rounded(.down) - 59
      let shown = minutes.map { (x: ($0.start.timeIntervalSince1970 / 60).rounded() - first, minute: $0) }
        .filter { (0..<60).contains($0.x) && $0.minute.endedCount > 0 }
      guard let most = shown.map(\.minute.endedCount).max() else { return .note("No job has ended.") }
      let bars = shown.map { x, minute -> HTML in
        func bar(_ name: String, _ height: Double) -> HTML {
          "<rect class=\"\(name)\" x=\"\(x)\" y=\"\(Double(most) - height)\" width=\"0.8\" height=\"\(height)\"/>"
        }
        // A single failure among thousands is visible.
        let failed = minute.failedCount == 0 ? 0 : max(Double(minute.failedCount), Double(most) / 25)
        let title = Table.lines(of: minute.record).joined(separator: "\n")
        return "<g><title>\(title)</title>\(bar("done", Double(minute.endedCount)))\(bar("failed", failed))</g>"
      }
      func logarithm(_ time: Duration?) -> Double? { time.map { log10(max(0.001, $0 / .seconds(1))) } }
      let times = shown.flatMap { [logarithm($0.minute.median), logarithm($0.minute.percentile99)] }.compactMap(\.self)
      let low = floor(times.min() ?? 0)
      let high = max(low + 1, ceil(times.max() ?? 0))
      func marks(_ name: String, _ time: KeyPath<FleetActivity, Duration?>) -> HTML {
        let marks = shown.compactMap { x, minute in
          logarithm(minute[keyPath: time]).map { "M\(x) \(high - $0)h0.8" }
        }
        return "<path class=\"\(name)\" d=\"\(marks.joined())\"/>"
      }
      let grid = stride(from: 1, to: high - low, by: 1).map { "<path d=\"M0 \($0)H60\"/>" as HTML }
      let limits = [high, low].compactMap { JSON.duration(.seconds(pow(10, $0))).brief }
      let lines = grid + [marks("p99", \.percentile99), marks("p50", \.median)]
      return """
        <div class="charts">\(plot("Ended jobs a minute", ["done", "failed"], ["\(most)", "0"], Double(most), bars))
        \(plot("From start to end", ["p50", "p99"], limits, high - low, lines))</div>
        """
    }

    private static func plot(_ title: String, _ keys: [String], _ limits: [String], _ height: Double, _ content: [HTML])
      -> HTML
    {
      """
      <figure><figcaption>\(title) \(keys.map { "<span class=\"key \($0)\">\($0)</span>" as HTML })</figcaption>
      <div class="plot">\(limits.map { "<span>\($0)</span>" as HTML })
      <svg viewBox="0 0 60 \(height)" preserveAspectRatio="none" role="img" aria-label="\(title)">\(content)</svg></div>
      <div class="axis"><span>1 h ago</span><span>30 min</span><span>now</span></div></figure>
      """
    }
  }

  extension FleetStatus {
    fileprivate var retryLabel: String { isUndone ? "Run again" : "Retry" }
  }
#endif
