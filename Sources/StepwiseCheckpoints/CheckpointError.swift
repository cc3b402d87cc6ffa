// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

/// An error that prevents the use of a checkpoint.
///
/// Its description says which id, and what you can do. What is stored has not changed, unless the error says so.
///
/// Further cases may be added, so end a `switch` over it with `default`.
public enum CheckpointError: Error, Sendable {
  /// The id was started with another first stage. Run it from that stage, or use another id.
  case differentStart(id: String, location: String)

  /// Another run holds the id: in the process with this number, if it is known.
  case held(id: String, location: String, processID: Int32?)

  /// What is stored is not a checkpoint, or differs from what was written. Its bytes are kept.
  case damaged(id: String, location: String, reason: String)

  /// The checkpoint belongs to a progression of another type.
  case foreignType(id: String, location: String, stored: String, expected: String)

  /// Two private types have this name, which is all that checkpoints store of a type, so they cannot be distinguished.
  ///
  /// Conform one of them to ``VersionedProgression`` and declare ``VersionedProgression/progressionName``.
  case ambiguousType(id: String, location: String, name: String)

  /// The checkpoint was written by a later version of this package.
  case newerFormat(id: String, location: String, format: Int, known: Int)

  /// The durable run was stored by an earlier version of this package, whose format this one does not read.
  ///
  /// Nothing was changed. Let the version that wrote it end the run, or remove the record.
  case olderFormat(id: String, location: String, format: Int, known: Int)

  /// The stored stage cannot be decoded as a stage of this progression, and no migration applies; or the input, the output
  /// or the value of a step cannot be decoded as the type that the durable chain has for it now.
  ///
  /// A later version of your program may have stored it: then update the program.
  case unknownShape(id: String, location: String, schemaVersion: Int, reason: String)

  /// A stage cannot be encoded, or would be decoded as another one. It was not saved; the previous one is kept.
  case unencodable(id: String, location: String, reason: String)

  /// A payload was encoded by a codec with this name, which the store does not have.
  ///
  /// Add the codec to the ``EncodedCheckpointStore``, and resume the id.
  case unknownCodec(id: String, location: String, codec: String)

  /// The codec with this name threw an error for a payload that it has encoded, for example because its key is another one.
  ///
  /// Nothing was undone, and you can resume the id.
  case undecodable(id: String, location: String, codec: String, reason: String)

  /// The operating system refused an operation, with this `errno`: for example disk full, read-only, or not permitted.
  case io(id: String, location: String, operation: String, errno: Int32)

  /// The id is empty or longer than 200 bytes.
  case invalidID(id: String, reason: String)

  /// The lease of the id is over, and another run may hold it.
  case lostLease(id: String, location: String)

  /// A durable run reached another step than the stored one, because its code has changed or is not deterministic.
  ///
  /// Nothing was undone. Restore the steps, or select them by ``CurrentRun/version``, and resume the id. `found` is nil
  /// when the code ended without reaching the stored step.
  case differentSteps(id: String, location: String, stored: String, found: String?)

  /// The code between the steps of a durable run waits for something else than steps, child tasks, actors and streams of
  /// the run, so that a further run cannot repeat the order of the steps.
  ///
  /// `step` is stored and comes next; `waiting` are the steps that wait for it. Put what the code waits for into a step.
  /// Nothing was undone, and the id can be resumed.
  case waitOutside(id: String, location: String, step: String, waiting: [String])

  /// A step that can be undone was called in the body of another step of a durable run, which is stored as a whole.
  ///
  /// Call both in `steps` instead. Nothing was undone, and the id can be resumed.
  case undoInStep(id: String, location: String, step: String, outer: String)

  /// A step of a durable run was called in a task that the run does not wait for in order, such as `Task { }`, or under
  /// another executor, so that a further run could not repeat the order of the steps.
  ///
  /// Call it in a child task, or put the whole work into one step. Nothing was undone, and the id can be resumed.
  case stepOutside(id: String, location: String, step: String)

  /// The value of a step of a durable run cannot be stored.
  case unstorable(id: String, location: String, step: String, reason: String)

  /// A durable run was stopped, for example because its task was cancelled; you can resume it.
  case stopped(id: String, location: String)

  /// The store holds no durable run with the id.
  case notStarted(id: String, location: String)

  /// Another version is stored than the one to replace; nil stands for none.
  case conflict(id: String, location: String, expected: UInt64?, found: UInt64?)
}

extension CheckpointError {
  /// The id that the error concerns; empty when it concerns a whole store.
  public var id: String { subject.id }

  /// The location of the id: a path, for files; nil for an id that cannot be stored.
  public var location: String? { subject.location }

  private var subject: (id: String, location: String?) {
    switch self {
    case .differentStart(let id, let location), .held(let id, let location, _), .damaged(let id, let location, _),
      .foreignType(let id, let location, _, _), .ambiguousType(let id, let location, _),
      .newerFormat(let id, let location, _, _), .olderFormat(let id, let location, _, _),
      .unknownShape(let id, let location, _, _),
      .unencodable(let id, let location, _), .unknownCodec(let id, let location, _),
      .undecodable(let id, let location, _, _), .io(let id, let location, _, _), .lostLease(let id, let location),
      .differentSteps(let id, let location, _, _), .waitOutside(let id, let location, _, _),
      .stepOutside(let id, let location, _),
      .undoInStep(let id, let location, _, _), .unstorable(let id, let location, _, _), .stopped(let id, let location),
      .notStarted(let id, let location),
      .conflict(let id, let location, _, _):
      (id, location)
    case .invalidID(let id, _): (id, nil)
    }
  }

  /// What is wrong and how to fix it, without the id and the location.
  public var cause: String {
    switch self {
    case .differentStart:
      "it was started with another first stage or input; start with that one, or use another id"
    case .held(_, _, let processID):
      "\(Self.holder(processID)) is running it; await its completion or cancel it there, or use another id"
    case .damaged(_, _, let reason): "it is damaged: \(reason); its bytes are kept"
    case .foreignType(_, _, let stored, let expected) where stored.namesChain && expected.namesChain:
      "it belongs to the \(stored), not to the \(expected); use another id, or give a chain that was renamed its old "
        + "name: .named(\"\(stored.storedChain ?? stored)\")"
    case .foreignType(_, _, let stored, let expected):
      "it belongs to \(stored), not to \(expected); use another id, or declare progressionName for a type that was renamed"
    case .ambiguousType(_, _, let name):
      "two private types are named \(name); conform one to VersionedProgression and declare another progressionName"
    case .newerFormat(_, _, let format, let known):
      "it has format \(format), and this version reads up to \(known); use the version that wrote it, or a later one"
    case .olderFormat(_, _, let format, let known):
      "it has format \(format) of durable runs, and this version reads \(known) alone; let the version that wrote it end the run, "
        + "or remove the record"
    case .unknownShape(_, _, let version, let reason):
      "what it holds, of schema version \(version), is unknown: \(reason)"
    case .unencodable(_, _, let reason): "its next stage cannot be stored: \(reason)"
    case .unknownCodec(_, _, let codec):
      "it was encoded by the codec \"\(codec)\", which the store does not have; add that codec to an EncodedCheckpointStore, "
        + "as its codec or to previous"
    case .undecodable(_, _, let codec, let reason):
      "the codec \"\(codec)\" cannot decode it: \(reason); resume the id with a codec of this name that can"
    case .io(_, _, let operation, let code): "\(operation) failed: \(SystemMessage.text(for: code)) (errno \(code))"
    case .invalidID(_, let reason): "the id is not valid: \(reason)"
    case .lostLease: "the lease is over; run the id again to resume from the last saved stage"
    case .differentSteps(_, _, let stored, let found?):
      "the step \(stored) is stored where the code has \(found); restore the steps, or select them by CurrentRun.version, "
        + "and resume the id"
    case .differentSteps(_, _, let stored, nil):
      "the step \(stored) is stored, and the code ended without it; restore the step, or select it by "
        + "CurrentRun.version, and resume the id"
    case .waitOutside(_, _, let step, let waiting):
      "the step \(step) is stored, and the code does not call it"
        + (waiting.isEmpty ? "" : ", while \(waiting.joined(separator: ", ")) wait")
        + ": if it waits for something that is no step, such as a request, a sleep or a Task { }, put that into a step; if "
        + "it has changed, restore the steps, or select them by CurrentRun.version; and resume the id"
    case .undoInStep(_, _, let step, let outer):
      "the step \(step), which can be undone, is inside of the step \(outer), which is stored as a whole; write "
        + "steps(\"\(outer)\") { } instead of step(\"\(outer)\") { }, so that the steps inside are stored and undone one by one"
    case .stepOutside(_, _, let step):
      "the step \(step) was called in a task of its own, such as Task { }, or under another executor, where its order is "
        + "not known; call it in a child task of the run (async let or a task group), or put the work into one step"
    case .unstorable(_, _, let step, let reason): "the value of the step \(step) cannot be stored: \(reason)"
    case .stopped: "the run was stopped; resume the id to continue"
    case .notStarted: "the store holds no run with this id; start one with run(_:id:in:)"
    case .conflict(_, _, let expected, let found):
      "\(Self.version(found)) is stored instead of \(Self.version(expected))"
    }
  }

  /// Creates the error of a system call that concerns an id, or a whole store.
  init(_ failure: FileFailure, of id: CheckpointID?) {
    self = .io(id: id?.text ?? "", location: failure.path, operation: failure.operation, errno: failure.code)
  }

  /// Whether the operating system allows at most reading: the disk is full or read-only, or writing is not permitted.
  var cannotWrite: Bool {
    if case .io(_, _, _, let code) = self { SystemMessage.cannotWrite(code) } else { false }
  }

  private static func holder(_ processID: Int32?) -> String {
    switch processID {
    case SystemMessage.processID?: "this process"
    case let processID?: "process \(processID)"
    case nil: "another process"
    }
  }

  private static func version(_ version: UInt64?) -> String { version.map { "version \($0)" } ?? "nothing" }
}

extension CheckpointError: CustomStringConvertible {
  /// The id, the location and the cause.
  public var description: String {
    switch (id.isEmpty, location) {
    case (true, let location?): "checkpoints at \(location): \(cause)"
    case (_, let location?): "checkpoint \"\(id)\" at \(location): \(cause)"
    case (_, nil): "checkpoint \"\(id)\": \(cause)"
    }
  }
}
