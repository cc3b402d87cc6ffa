// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
public import StepwiseTracing

extension SchemaLock {
  /// Returns a diagram of the samples, one stage for each case, in the order of the samples.
  ///
  /// The edges are true when that is the order in which a run reaches the cases; see `describe(_:stages:)` of
  /// `Progression`.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public func describe(_ format: DiagramFormat = .text) -> String {
    var names: Set<String> = []
    return P.describe(format, stages: samples.filter { names.insert($0.stageName).inserted })
  }
}
