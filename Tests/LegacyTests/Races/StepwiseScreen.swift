// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyStepwise

// As UIKit declares it.
@preconcurrency @MainActor
class UIViewController {
  var title: String?
  func viewDidLoad() {}
}

@available(*, deprecated)
final class Screen: UIViewController {
  var starts = 0
  var token: CancellationToken?

  override func viewDidLoad() {
    super.viewDidLoad()
    let chain = toStep { (name: String) -> String in
      self.starts += 1  // Warning: a race, as the step runs in a global queue.
      return name
    }
    .then(inQueue: .main) { name in
      self.title = name  // Warning: no race, which the compiler cannot know.
    }
    token = chain.cancellationToken
    chain.start("a")
    toStep { (step: Step<String, Void>) in
      DispatchQueue.main.async {
        self.title = step.input
        step.resolve()
      }
    }.start("b")
    toStep { (name: String, handler: Handler<Int>) in
      DispatchQueue.main.async { [weak self] in
        self?.title = name
        handler.pass(name.count)
      }
    }.start("c")
  }
}
