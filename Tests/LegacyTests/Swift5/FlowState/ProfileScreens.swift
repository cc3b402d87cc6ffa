// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyFlowState
import StepwiseTesting

// What the samples speak of and do not show.

struct UserProfile: Equatable, Sendable {
  var name: String

  /// Calls back on another thread than the main one, as a request does.
  @preconcurrency
  static func getUser(_ completion: @escaping @Sendable (UserProfile) -> Void) {
    DispatchQueue.global().async { completion(UserProfile(name: "Grace")) }
  }

  @preconcurrency
  static func updateName(_ name: String?, _ completion: @escaping @Sendable (UserProfile) -> Void) {
    DispatchQueue.global().async { completion(UserProfile(name: name ?? "unknown")) }
  }
}

enum UserProfileAction: Sendable {
  case editProfile, downloadProfile
}

@available(*, deprecated)
final class UserProfileViewController: UIViewController {
  let results = FlowStepHandler(UserProfile.self, UserProfileAction.self)
  let names = Recorder<String>()

  func viewDidLoad() {
    results.contentUpdateHandler = { [weak self] profile in
      self?.names.record(profile?.name ?? "unknown")
    }
    names.record(results.content?.name ?? "unknown")
  }

  func pressEdit() { results.complete(.editProfile) }
  func pressDownload() { results.complete(.downloadProfile) }
}

@available(*, deprecated)
final class StringEntryViewController: UIViewController {
  let results = FlowStepHandler(String.self, String.self)
  let texts = Recorder<String>()

  func viewDidLoad() {
    results.contentUpdateHandler = { [weak self] text in
      self?.texts.record(text ?? "")
    }
    texts.record(results.content ?? "")
  }

  func enter(_ text: String?) { results.complete(text) }
}

final class LoadingModalViewController: UIViewController {}
