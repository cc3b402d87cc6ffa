// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The name, limits and numbers of handlers of a job: all that another module can read of it.
package struct JobPlan {
  package let name: String
  package let priority: TaskPriority?
  package let timeout: Duration?
  package let deadline: Duration?
  package let onStart: Int
  package let onUpdate: Int
  package let onTimeout: Int
  package let onError: Int
  package let onFinish: Int
}

extension Job {
  package var plan: JobPlan {
    JobPlan(
      name: name,
      priority: settings.priority,
      timeout: settings.timeout?.duration,
      deadline: settings.deadline?.duration,
      onStart: settings.handlers.onStart.count,
      onUpdate: settings.handlers.onUpdate.count,
      onTimeout: settings.handlers.onTimeout.count,
      onError: settings.handlers.onError.count,
      onFinish: settings.handlers.onFinish.count
    )
  }
}
