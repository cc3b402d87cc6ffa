// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  extension Fleet {
    /// Returns the value that a step of a chain has stored, while the run is under way and after it.
    ///
    /// Use it to show the state of a running order. It reads the database and does not disturb the run. The values are kept
    /// after the end of a run whose job keeps its stages. Those of an attempt of `steps` are removed when it has failed.
    ///
    /// ```swift
    /// let place = try await fleet.value(of: "order-7", step: "reserve", as: String.self)
    /// ```
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - step: The name of the step; that of the second step of the same name is `name#2`, and that of a step in
    ///     `steps("outer")` is `outer/name`.
    ///   - type: The type of the value.
    /// - Returns: The value; nil when the step has not completed, or is undone.
    /// - Throws: ``FleetError/notFound(id:)``; ``FleetError/foreignType(id:stored:expected:)`` when the job is no chain;
    ///   ``FleetError/unknownShape(id:reason:)`` when the value is of another type;
    ///   ``FleetError/unknownCodec(id:codec:)`` and ``FleetError/undecodable(id:codec:reason:)`` when no codec of the fleet
    ///   can read it; ``PostgresError``.
    @concurrent public func value<Value: Codable & Sendable>(
      of id: String,
      step: String,
      as type: Value.Type
    ) async throws -> Value? {
      guard let status = try await status(of: id) else { throw FleetError.notFound(id: id) }
      guard let chain = status.progression.storedChain else {
        throw FleetError.foreignType(id: id, stored: status.progression, expected: "chain")
      }
      do {
        var events: [DurableEvent] = []
        for (entry, _) in try await entries(of: id) {
          events += try DurableEvent.events(in: payloads.decode(entry: entry, of: id))
        }
        guard let bytes = DurableEvent.value(of: step, in: chain, events) else { return nil }
        return try DurableValues(Value.self).decode(bytes)
      } catch let error as any FleetStoreError {
        throw error
      } catch let error as FleetError {
        throw error
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        throw FleetError.unknownShape(id: id, reason: "step \"\(step)\": \(error)")
      }
    }
  }

  extension DurableEvent {
    /// Returns the last value that a step has stored, unless the step was undone.
    fileprivate static func value(of step: String, in chain: String, _ events: [DurableEvent]) -> [UInt8]? {
      // A chain with one closure is a step around the steps of the closure.
      let outer = DurableLog.key(chain, 1, in: "")
      let names = [step, DurableLog.key(step, 1, in: "")].map { Array($0.utf8) }
      func isNamed(_ path: String) -> Bool {
        if names.contains(where: { $0.elementsEqual(path.utf8) }) { return true }
        guard path.utf8.starts(with: outer.utf8), let end = path.utf8.firstIndex(of: UInt8(ascii: "/")) else {
          return false
        }
        return names.contains { $0.elementsEqual(path.utf8[path.utf8.index(after: end)...]) }
      }
      /// Whether a path belongs to a further attempt at something around the step that was found.
      func isRetry(_ path: String, of found: String) -> Bool {
        found.utf8.indices.contains { index in
          found.utf8[index] == UInt8(ascii: "/") && path.utf8.starts(with: (found[..<index] + "@").utf8)
        }
      }
      var found: (path: String, number: Int, value: [UInt8])?
      for event in events {
        switch event {
        case .completed(let path, _, _, _, _), .began(let path, _), .failed(let path, _, _, _):
          if let last = found, isRetry(path, of: last.path) { found = nil }
          if case .completed(_, _, let number, let value, _) = event, isNamed(path) { found = (path, number, value) }
        case .undone(let number): if number == found?.number { found = nil }
        default: break
        }
      }
      return found?.value
    }
  }

  extension FleetJob {
    /// Says what the job is doing, for ``FleetStatus/note``, `stepctl fleet show` and the page.
    ///
    /// Call it in a stage or in the body of a step. It is stored at once, and not with the step: a worker that dies leaves
    /// it. The text is always shown, so keep secrets out of it.
    ///
    /// - Parameter text: The note, of which the first 2,000 characters are kept; nil to remove it.
    /// - Throws: ``PostgresError``; an error that ends the attempt when the job is not this worker's any more.
    @concurrent public func setNote(_ text: String?) async throws {
      let text = text.map(Ending.text)
      do {
        try await claim.store(note: text)
      } catch let error as any FleetStoreError where error.isUnstorable {
        try await claim.store(note: text.map(Ending.ascii))
      }
    }
  }

  extension ClaimedJob {
    fileprivate func store(note: String?) async throws {
      if try await !surroundings.run({ try await $0.setNote(note, of: row.claim) }) { throw LostJob() }
    }
  }
#endif
