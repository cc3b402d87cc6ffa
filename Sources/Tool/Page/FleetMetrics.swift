// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import StepwiseFleet

  extension FleetReport {
    /// The report in the text format of Prometheus.
    var metrics: String {
      func family(_ name: String, _ help: String, _ samples: [(labels: [(String, String)], value: String)]) -> String {
        let lines = samples.map { sample in
          let labels = sample.labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
          return "stepwise_fleet_\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
        }
        return "# HELP stepwise_fleet_\(name) \(help)\n# TYPE stepwise_fleet_\(name) gauge\n" + lines.joined()
      }
      let jobs = names.flatMap { name in
        FleetState.all.map { state in
          (labels: [("name", name.name), ("state", "\(state)")], value: "\(name.counts[state] ?? 0)")
        }
      }
      let oldest = names.map { name in
        (labels: [("name", name.name)], value: "\(max(0, (name.oldestQueued ?? .zero) / .seconds(1)))")
      }
      let known = names.map { (labels: [("name", $0.name)], value: "\($0.workerCount)") }
      let paused = names.map { (labels: [("name", $0.name)], value: $0.isPaused ? "1" : "0") }
      let running = workers.map { worker in
        (labels: [("worker", worker.name), ("id", "\(worker.id)")], value: "\(worker.runningCount)")
      }
      return family("jobs", "Jobs by name and state.", jobs)
        + family(
          "oldest_queued_seconds",
          "How long ago the job was due that has been queued for the longest time.",
          oldest
        )
        + family("workers", "Workers with a lease that know the name.", known)
        + family("paused", "Whether the name is paused.", paused)
        + family("worker_running", "Jobs that a worker runs.", running)
        + family(
          "counted_age_seconds",
          "How long ago these numbers were counted.",
          [
            (labels: [], value: "\((.now - began) / .seconds(1))")
          ]
        )
    }

    /// The value of a label.
    private static func escaped(_ text: String) -> String {
      text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
  }
#endif
