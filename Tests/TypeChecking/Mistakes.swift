// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// What does not compile, and what the compiler says: a line has the error of the comment at its end, and no other line has
// one. `DiagnosticTests` compiles this file, which belongs to no target.

import Stepwise

struct Draft: Sendable {}
struct Page: Sendable {}

@Sendable func layOut(_ draft: Draft) async throws -> Page { Page() }

func recoverOfAnotherType(draft: Chain<Int, Draft>) {
  _ = draft.recover { error in
    print(error)
    return Page()  // error: cannot convert value of type 'Page'
  }
}

func zipOfDifferentInputs(a: Chain<Int, Int>, b: Chain<String, Int>) {
  _ = Chain.zip(a, b)  // error: cannot convert value of type
  _ = Chain.zip(a, a)
}

func raceOfDifferentOutputs(a: Chain<Int, Int>, b: Chain<Int, String>) {
  _ = Chain.race(a, b)  // error: cannot convert value of type 'Chain<Int, String>'
}

func appendingOfAnotherInput(a: Chain<Int, Draft>, b: Chain<Page, Int>) {
  _ = a.appending(b)  // error: the types 'Draft' and 'Page'
  _ = a.appending(Step { (page: Page) in page })  // error: the types 'Draft' and 'Page'
  _ = a.then(layOut).appending(b)
}

func recoverOfNothing(draft: Chain<Int, Draft>) {
  _ = draft.recover { error in print(error) }  // error: cannot convert value of type '()'
  _ = draft.recover(from: CancellationError.self) { error in print(error) }  // error: cannot convert value of type '()'
  _ = draft.recover { _ in Draft() }.recover { _ in throw CancellationError() }.recover { _ in fatalError() }
  _ = Chain { (number: Int) in print(number) }.recover { error in print(error) }
}

func updatesOfAJobWithoutUpdates(text: @escaping @MainActor (String) -> Void) {
  _ = Job("load") { (number: Int) in number }.onUpdate(text)  // error: expects 2 arguments, but 1 was used
  _ = Job("load") { (number: Int, job: JobContext<String>) in job.update("\(number)") }.onUpdate(text)
}
