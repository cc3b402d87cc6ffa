// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct ShieldTests {
  @TaskLocal static var mark = "none"

  @Test func `Earlier cancellation is hidden`() async {
    let seen = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return (await shielded { Task.isCancelled }, Task.isCancelled)
    }.value
    #expect(seen == (false, true))
  }

  @Test func `Cancellation inside the shield is hidden`() async {
    let inside = Once<Void>()
    let goOn = Once<Void>()
    let task = Task {
      await shielded {
        inside.settle(())
        _ = await goOn.valueIgnoringCancellation()
        return Task.isCancelled
      }
    }
    await inside.valueIgnoringCancellation()
    task.cancel()
    goOn.settle(())
    #expect(await task.value == false)
  }

  @Test func `Priority and task-local values are kept`() async {
    let seen = Recorder<String>()
    _ = Task.detached(priority: .utility) {
      await Self.$mark.withValue("caller") {
        await shielded { seen.record("\(Task.currentPriority == .utility) \(Self.mark)") }
      }
    }
    #expect(await seen.elements(atLeast: 1) == ["true caller"])
  }

  @Test func `The executor preference is kept`() throws {
    let executor = SeededExecutor(seed: 1)
    let isThere = try executor.run {
      await shielded { withUnsafeCurrentTask { $0?.unownedTaskExecutor } == executor.asUnownedTaskExecutor() }
    }
    #expect(isThere)
  }

  @Test func `A shield calls no outer cancellation handlers`() async throws {
    let token = CancellationToken()
    let requests = try await withCancellation(by: token) {
      token.cancel(reason: "requested")
      let outside = Scope.current.context?.request?.reason
      let inside = await Scope.withCancellationShield {
        [Scope.current.context?.request?.reason, Scope.current.cancellationCause?.reason]
      }
      return [outside] + inside
    }
    #expect(requests == ["requested", nil, nil])
  }
}
