// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFlows

/// One step on the path, with the pages that it shows.
struct WalkFrame {
  var name: String
  var pages: [String] = []
  /// Whether its page took the place of a page that covers another one.
  var isCovering = false
}

/// The oracle of a walk: the steps on the path and the pages that the user sees, as a plain list.
@MainActor
struct WalkPlan {
  private(set) var frames: [WalkFrame] = []
  /// The number of works that wait for the clock.
  private(set) var working = 0
  /// The pages that stayed when earlier runs ended.
  var base: [String] = []

  init() { enter("0") }

  var shown: [String] { frames.flatMap(\.pages) }
  var stack: [String] { base + shown }
  var sheet: String? { frames.last.flatMap { WalkWorld.sheets.contains($0.name) ? $0.name : nil } }
  var isFinishing: Bool { frames.last?.name == "f" }
  /// The name of the page that waits for an answer.
  var open: String? { sheet ?? frames.last?.pages.last }

  var free: [String] {
    (WalkWorld.pages + WalkWorld.sheets + WalkWorld.works + ["N", "M", "g"]).filter { name in
      !frames.contains { $0.name == name }
    }
  }

  mutating func restart() {
    end()
    enter("0")
  }

  /// What covers stays when the run ends.
  private mutating func end() {
    base += staying
    frames = []
  }

  private var staying: [String] { shown.filter(Self.stays) }

  static func stays(_ name: String) -> Bool { WalkWorld.covers.contains(name) || name == "m0" }

  /// The run is replayed: each step on the path shows its page again, unless another one covers it.
  mutating func replay() {
    base += staying
    let top = frames.count - 1
    for index in frames.indices where index < top {
      let name = frames[index].name
      frames[index].pages = name == "M" ? ["m0"] : WalkWorld.pages.contains(name) ? [name] : []
    }
    for index in frames.indices where frames[index].isCovering && !frames[index].pages.isEmpty { cover(below: index) }
    activate(isReplay: true)
  }

  /// The page of the newest step below that had one disappears, if it is still there; without such a step, the topmost.
  private mutating func cover(below index: Int) {
    let lower = frames[..<index].lastIndex { WalkWorld.pages.contains($0.name) || $0.name == "M" }
    if let lower { frames[lower].pages = [] } else { _ = base.popLast() }
  }

  /// The pages that a step shows when it is presented.
  private func pages(of name: String) -> [String] {
    switch name {
    case "N": ["n0"]
    case "M": ["m0"]
    case "g": ["gp"]
    default: WalkWorld.pages.contains(name) ? [name] : []
    }
  }

  /// Presents the newest step.
  private mutating func activate(isReplay: Bool = false) {
    guard let top = frames.last else { return }
    if !isReplay || !["N", "M"].contains(top.name) { frames[frames.count - 1].pages = pages(of: top.name) }
    working = WalkWorld.works.contains(top.name) || top.name == "g" ? 1 : 0
  }

  private mutating func enter(_ name: String) {
    if let index = frames.firstIndex(where: { $0.name == name }) {
      frames.removeSubrange((index + 1)...)
    } else {
      let isCovering = WalkWorld.covers.contains(name) || name == "M"
      if isCovering { cover(below: frames.endIndex) }
      frames.append(WalkFrame(name: name, isCovering: isCovering))
    }
    activate()
  }

  mutating func answer(_ answer: WalkAnswer, isInner: Bool = false) {
    let top = frames.count - 1
    if isInner, case .next(let name, _, _) = answer { return frames[top].pages.append(name) }
    switch frames[top].name {
    // The pages of a nested flow, and of concurrent steps, disappear with their end.
    case "N", "g": frames[top].pages = []
    case "M": frames[top].pages = ["m0"]
    default: break
    }
    switch answer {
    case .next(let name, _, _): enter(name)
    case .replace(let name) where frames[top].pages.isEmpty:
      frames.removeLast()
      enter(name)
    case .replace(let name):
      frames[top].name = name
      activate()
    case .back:
      if frames.count == 1 { end() }
      _ = frames.popLast()
      goBack(over: 0, isSwiped: false)
    case .finish: end()
    }
  }

  /// The page of the concurrent steps was answered, and their work runs on.
  mutating func answerGroup() { frames[frames.count - 1].pages = [] }

  mutating func finishWork() { working = 0 }

  /// The user has left some pages, or the sheet.
  mutating func leave(pages count: Int) {
    guard sheet == nil, count > 0 else { return goBack(over: 1, isSwiped: true) }
    var rest = count
    for index in frames.indices.reversed() {
      guard rest > frames[index].pages.count || frames[index].pages.isEmpty else {
        let isTop = index == frames.count - 1
        guard isTop, rest < frames[index].pages.count else {
          return rest < frames[index].pages.count
            ? goBack(over: frames.count - index - 1, isSwiped: true)
            : goBack(over: frames.count - index, isSwiped: true)
        }
        return frames[index].pages.removeLast(rest)
      }
      rest -= frames[index].pages.count
    }
  }

  mutating func goBack(over count: Int, isSwiped: Bool) {
    working = 0
    var rest = count
    while let top = frames.last, rest > 0 || WalkWorld.works.contains(top.name) {
      if top.name == "r" {
        if count > 1 { frames.removeLast(rest) } else if isSwiped { frames[frames.count - 1].pages = [] }
        return enter("e")
      }
      frames.removeLast()
      rest -= 1
    }
    activate()
  }
}
