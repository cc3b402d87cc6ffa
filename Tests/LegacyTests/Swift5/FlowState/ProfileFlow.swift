// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting

/// The samples of FlowState's README, in their order.
///
/// The only edits are in the last one: `editTextStep` and `fakeNetworkStep`, which are declared nowhere, are
/// `editNameStep` and `networkStep`; what is edited is the profile's name, since the content there is a `String`. In Swift 6
/// mode the class says that it is bound to the main actor, as all that shows something is.
@available(*, deprecated)
#if swift(>=6)
  @MainActor
#endif
final class ProfileFlow {
  let displayStep: FlowStep<UserProfile, UserProfileAction>
  let networkStep: FlowStep<Any, UserProfile>
  let editNameStep: FlowStep<String, String>
  let updateNameStep: FlowStep<String, UserProfile>

  init(_ navigationController: UINavigationController) {
    /// Create a FlowStep that displays the profile view controller.
    let displayStep = FlowStep(
      UserProfile.self,
      UserProfileAction.self,
      identifier: "Profile",
      { (step) in
        /// This block is called each time the step begins.
        /// Make a new Profile Display VC
        let vc = UserProfileViewController()
        /// Set the vc on the navigation controller step.
        navigationController.setViewControllers([vc], animated: false)
        /// Return the View Controller's FlowStepHandler `results`.
        return vc.results
      }
    )

    /// Create a step that downloads the user profile from the internet
    let networkStep = FlowStep(
      Any.self,
      UserProfile.self,
      identifier: "User Profile Network",
      { (step) in
        /// Show a loader View Controller
        let loader = LoadingModalViewController()
        navigationController.present(loader, animated: true, completion: nil)
        /// Create step results for this step.
        let stepResults = FlowStepHandler(Any.self, UserProfile.self)
        /// Make an async network call.
        UserProfile.getUser() { (newProfile) in
          /// After the download has completed, call completion with the results.
          stepResults.complete(newProfile)
        }
        return stepResults
      }
    ) { [unowned displayStep] (step, newProfile) in
      if let newProfile = newProfile {
        /// Set the new profilew on the display step, which automatically updates it's view controller.
        displayStep.content = newProfile
      }
      /// Dismiss the loading modal.
      navigationController.dismiss(animated: true, completion: nil)
    }

    let editNameStep = FlowStep(
      String.self,
      String.self,
      identifier: "Edit Name",
      { (step) in
        let vc = StringEntryViewController()
        navigationController.pushViewController(vc, animated: true)
        return vc.results
      }
    )

    /// Create a step that updates the user profile
    let updateNameStep = FlowStep(
      String.self,
      UserProfile.self,
      identifier: "Update Profile Step",
      { (step) in
        /// Show a loader View Controller
        let loader = LoadingModalViewController()
        navigationController.present(loader, animated: true, completion: nil)
        /// Create step results for this step.
        let stepResults = FlowStepHandler(Any.self, UserProfile.self)
        /// Make an async network call that updates the user profile with the step's content.
        UserProfile.updateName(step.content) { (newProfile) in
          /// After the download has completed, call completion with the results.
          stepResults.complete(newProfile)
        }
        return stepResults
      }
    ) { [unowned displayStep] (step, newProfile) in
      if let newProfile = newProfile {
        /// Set the new profilew on the display step, which automatically updates it's view controller.
        displayStep.content = newProfile
      }
      /// Dismiss the loading modal.
      navigationController.dismiss(animated: true, completion: nil)
      /// Optionally you could pop the nav controller here to go back to the profile.
    }

    editNameStep.setCompletion { (step, newName) in
      guard let newName = newName else {
        step.nextStep = nil
        return
      }
      /// Forward the results of this step to the updateNameStep
      updateNameStep.content = newName
      step.nextStep = updateNameStep
    }

    /// Set the display step completion block to switch between its results
    displayStep.setCompletion { (step, action) in
      guard let action = action else { return }
      switch action {
      case .editProfile:
        /// Edit profile was pressed.
        editNameStep.content = step.content?.name
        step.nextStep = editNameStep
      case .downloadProfile:
        /// Download profile was pressed.
        step.nextStep = networkStep
      }
    }

    self.displayStep = displayStep
    self.networkStep = networkStep
    self.editNameStep = editNameStep
    self.updateNameStep = updateNameStep
  }
}
