// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

extension Races {
  /// Shared stages and production lines on real threads.
  @Suite struct ProgressionRaceTests {
    private struct Count: Progression {
      var number = 0
      let last: Int

      func next() async throws -> Count { Count(number: number + 1, last: last) }
      var result: Int? { number == last ? number : nil }
    }

    private final class Arena: Sendable {
      let shared: any AsyncSequence<Count, any Error> & Sendable
      let token = CancellationToken()
      let complaints = Recorder<String>()

      init(_ sharing: StageSharing) {
        shared = Count(last: 5).stages.shared(sharing)
      }

      /// Takes stages to the end.
      func consume(isEvery: Bool) {
        let shared = shared
        let numbers = wait {
          var numbers: [Int] = []
          do { for try await stage in shared { numbers.append(stage.number) } } catch { numbers.append(-1) }
          return numbers
        }
        let expected = isEvery ? Array((numbers.first ?? 9)...max(5, numbers.first ?? 9)) : numbers.sorted()
        // A consumer that joins after the last one left receives the newest stage and an error.
        let isLate = numbers.count <= 2 && numbers.last == -1
        if !isLate, numbers != expected || numbers.last != 5 { complaints.record("\(numbers)") }
      }

      /// Takes stages until it is cancelled, or stops after a few.
      func dropOut(after count: Int) {
        let (shared, token) = (shared, token)
        wait {
          _ = try? await withCancellation(by: token) {
            for try await stage in shared where stage.number >= count { break }
          }
        }
      }
    }

    @Test(arguments: [true, false])
    func `Consumers come and go`(isEvery: Bool) async {
      let sharing = isEvery ? StageSharing.everyStage : .latest
      await race(
        rounds: rounds / 4,
        in: { Arena(sharing) },
        { $0.consume(isEvery: isEvery) },
        { $0.consume(isEvery: isEvery) },
        { $0.dropOut(after: 2) },
        { $0.token.cancel() },
        referee: { arena in arena.complaints.elements.first }
      )
    }

    @Test func `A production line is used from many threads`() async {
      await race(
        rounds: rounds / 4,
        in: { Hall() },
        { hall in for number in 0..<4 { hall.line.add(Count(number: number, last: 5)) } },
        { hall in
          hall.line.suspend()
          hall.line.add(Count(number: 4, last: 5))
          hall.line.resume()
        },
        { hall in
          let line = hall.line
          hall.taken.record(
            wait {
              var count = 0
              var results = line.results.makeAsyncIterator()
              while count < 5, await results.next(isolation: #isolation) != nil { count += 1 }
              return count
            }
          )
        },
        referee: { hall in
          hall.line.finish()
          let line = hall.line
          let rest = wait {
            var count = 0
            for await _ in line.results { count += 1 }
            return count
          }
          return hall.taken.elements == [5] && rest == 0 ? nil : "\(hall.taken.elements), then \(rest)"
        }
      )
    }

    private final class Hall: Sendable {
      let line = ProductionLine<Count>(maxConcurrent: 2)
      let taken = Recorder<Int>()
    }
  }
}
