// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate
import StepwiseTesting
import Testing

/// The samples of Elevate's README, in classes that adopt `Elevate`.
///
/// Edits that hold for all of them, from Ruby to Swift: `do … end` is `{ … }`; `on_start` and its like are `onStart`; a hash is
/// a dictionary with text for keys; an instance variable that comes from an argument, as `@username`, is
/// `try taskArgs.value("username")`; `yield x` is `yield(x)`; what is returned says `return`, since other lines precede it; a
/// call that waits is `try await`; `puts` is `print`, which is the screen's here, as are `alert` and `SVProgressHUD`, so that
/// each test has its own.
@Suite(.timeLimit(.minutes(5)))
struct ElevateReadmeTests {
  @available(*, deprecated)
  @Test(arguments: [
    ("ann", "secret", ["HUD: Logging In...", "Logged in!", "no HUD", "alert: Logged in successfully!"]),
    ("ann", "guess", ["HUD: Logging In...", "Logged in!", "no HUD", "alert: Invalid username/password!"]),
    ("unknown", "", ["HUD: Logging In...", "no HUD", "alert: Optional(no server)"]),
  ])
  func logsIn(username: String, password: String, shown: [String]) async {
    let controller = LoginViewController()
    controller.username.text = username
    controller.password.text = password
    controller.login()
    await controller.loginTask?.ended()
    #expect(controller.screen.lines == shown)
    #expect(controller.store.stored.elements == (password == "secret" ? ["ann 4711"] : []))
  }

  @available(*, deprecated)
  @Test func tracksAnArtist() async {
    let controller = ArtistsSearchViewController()
    controller.searchBar.text = "Prince"
    controller.track()
    await controller.trackTask?.ended()
    #expect(controller.screen.lines == ["HUD: Adding...", "no HUD"])
    #expect(controller.store.stored.elements == ["Prince's newest"])
  }

  // "Define a timeout interval with the timeout method (note: unlike cancellation, on_finish is still called)". The clock is
  // the test's.
  @available(*, deprecated)
  @Test func timesOut() async {
    let controller = ArtistsSearchViewController()
    controller.searchBar.text = "endless"
    controller.track()
    await controller.clock.sleepers(atLeast: 1)
    controller.clock.advance(by: .seconds(30))
    await controller.trackTask?.ended()
    #expect(controller.screen.lines == ["HUD: Adding...", "Rats! Timed out!", "no HUD"])
    #expect(controller.store.stored.elements == [])
  }

  // "To cancel a task, call cancel on the task returned by the async method. This also prevents any callbacks you have
  // defined from running."
  @available(*, deprecated)
  @Test func isCancelled() async {
    let controller = ArtistsSearchViewController()
    controller.searchBar.text = "endless"
    controller.track()
    await controller.screen.shown.elements(atLeast: 1)
    controller.trackTask?.cancel()
    #expect(await controller.trackTask?.ended() == true)
    await letMainActorCatchUp()
    #expect(controller.screen.lines == ["HUD: Adding..."])
    #expect(controller.store.stored.elements == [])
  }
}

@available(*, deprecated)
private final class LoginViewController: Elevate {
  var username = UITextField()
  var password = UITextField()
  var loginTask: ElevateTask?
  let (screen, store) = (Screen(), Store())

  func login() {
    let (SVProgressHUD, UserRegistration) = (screen, store)
    @Sendable func print(_ text: String) { SVProgressHUD.show(text) }
    @Sendable func alert(_ item: Any) { SVProgressHUD.show("alert: \(item)") }

    // Edits: the types of `status` and `result` are said, since they are used as text and as a condition.
    loginTask = async(["username": username.text, "password": password.text]) {
      task {
        // This block runs on a background thread.
        //
        // The "username" and "password" of taskArgs correspond to the args
        // passed into async. API is a thin wrapper class over Elevate::HTTP,
        // which blocks until the request returns, yet can be interrupted.
        let credentials = try await API.login(taskArgs.value("username"), taskArgs.value("password"))
        if let credentials = credentials {
          UserRegistration.store(credentials.username, credentials.token)
        }

        // Anything yielded from this block is passed to onUpdate
        yield("Logged in!")

        // Return value of block is passed back to onFinish
        return credentials != nil
      }

      onStart {
        // This block runs on the UI thread after the operation has been queued.
        SVProgressHUD.showWithStatus("Logging In...")
      }

      onUpdate { (status: String) in
        // This block runs on the UI thread with anything the task yields
        print(status)
      }

      onFinish { (result: Bool?, exception) in
        // This block runs on the UI thread after the task block has finished.
        SVProgressHUD.dismiss()

        if exception == nil {
          if result == true {
            alert("Logged in successfully!")
          } else {
            alert("Invalid username/password!")
          }
        } else {
          alert(exception as Any)
        }
      }
    }
  }
}

@available(*, deprecated)
private final class ArtistsSearchViewController: Elevate {
  var searchBar = UITextField()
  var trackTask: ElevateTask?
  let (screen, store, clock) = (Screen(), Store(), ManualClock())

  func track() {
    let (SVProgressHUD, ArtistDB) = (screen, store)
    @Sendable func print(_ text: String) { SVProgressHUD.show(text) }

    // Edits: as above.
    trackTask = async(["artist": searchBar.text]) {
      timeout(30.0, clock: clock)

      task {
        let artist = try await API.track(taskArgs.value("artist"))
        ArtistDB.update(artist)
      }

      onStart {
        SVProgressHUD.showWithStatus("Adding...")
      }

      onTimeout {
        print("Rats! Timed out!")
      }

      onFinish { result, exception in
        SVProgressHUD.dismiss()
      }
    }
  }
}
