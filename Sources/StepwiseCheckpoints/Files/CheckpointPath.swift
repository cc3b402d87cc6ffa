// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

/// A file of a store and the id that it belongs to: every error names both.
struct CheckpointPath: Sendable {
  /// Nil for what concerns the whole store.
  let id: CheckpointID?
  let file: FileLocation

  func failure(_ operation: String, _ code: Int32) -> CheckpointError {
    error(FileFailure(operation, file.path, code))
  }

  func damaged(_ reason: String) -> CheckpointError {
    .damaged(id: id?.text ?? "", location: file.path, reason: reason)
  }

  /// Runs file operations whose errors name the id.
  func naming<Value>(_ body: () throws(FileFailure) -> Value) throws(CheckpointError) -> Value {
    do {
      return try body()
    } catch {
      throw self.error(error)
    }
  }

  private func error(_ failure: FileFailure) -> CheckpointError {
    .io(id: id?.text ?? "", location: failure.path, operation: failure.operation, errno: failure.code)
  }
}
