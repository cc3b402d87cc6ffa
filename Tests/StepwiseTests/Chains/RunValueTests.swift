// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Synchronization
import Testing

/// What a handle holds of the values that pass through its run.
@Suite(.timeLimit(.minutes(5)))
struct RunValueTests {
  private final class Resource: Sendable {}

  private final class Ending: Sendable {
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) {
      self.action = action
    }

    deinit { action() }
  }

  @Test func `A cancelled run has released the value of its last step`() async {
    let gate = Turnstile()
    let made = Mutex<WeakResource>(WeakResource())
    let chain = Chain { (_: Int) -> Resource in
      let resource = Resource()
      made.withLock { $0 = WeakResource(resource) }
      await gate.passWhateverHappens()
      return resource
    }
    .then { $0 }
    let run = chain.start(1)
    await gate.visitors(atLeast: 1)
    run.cancel()
    gate.open()
    guard case .cancelled = await run.outcome else {
      Issue.record("the second step ran")
      return
    }
    #expect(made.withLock { $0.resource == nil })
    #expect(run.isFinished)
  }

  private struct WeakResource: Sendable {
    weak let resource: Resource?

    init(_ resource: Resource? = nil) {
      self.resource = resource
    }
  }

  @Test func `An input that no step took is released without a lock`() async {
    let gate = Turnstile()
    let released = Recorder<Bool>()
    let waiting = Mutex<Run<Int>?>(nil)
    let chain = Chain { (_: Ending) in
      await gate.passWhateverHappens()
      return 1
    }
    .overlap(.serial)
    let first = chain.start(Ending {})
    await gate.visitors(atLeast: 1)
    let second = chain.start(Ending { released.record(waiting.withLock { $0 }?.cancel() ?? true) })
    waiting.withLock { $0 = second }
    second.cancel()
    guard case .cancelled = await second.outcome else {
      Issue.record("the run that waited for its turn ran")
      return
    }
    #expect(released.elements == [false])
    waiting.withLock { $0 = nil }
    gate.open()
    #expect(await first.outcome.brief == "resolved 1")
  }
}
