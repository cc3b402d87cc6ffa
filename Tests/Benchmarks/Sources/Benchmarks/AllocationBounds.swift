// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CAllocationCounter

/// Prints how often each operation calls malloc or its kin, and returns whether the limits are kept.
///
/// The counts are those of the whole process, of one operation after the other: they do not depend on what else the machine
/// does, except where two threads of one operation meet in another order, which shows behind the decimal point.
func checkAllocations(operations: Int = 10_000) async throws -> Bool {
  guard allocation_counter_is_available() else {
    print("Allocations are counted on Linux with glibc only.")
    return true
  }
  print("Calls of malloc and its kin per operation, of \(operations); limit, aim")
  var areKept = true
  for form in AllocationForm.all {
    let work = form.form.work
    // In a Task of its own, whose first memory holds the functions that are called, as it does for short calls in a program.
    let counted = try await Task.detached {
      // What is allocated once is there already.
      try await work(operations / 10)
      let before = allocation_counter_read()
      try await work(operations)
      return allocation_counter_read() - before
    }.value
    let calls = Double(counted) / Double(operations)
    let tenths = (calls * 10).rounded() / 10
    let isKept = tenths <= form.limit ?? .infinity
    if !isKept { areKept = false }
    let limits = form.limit.map { "; \($0), \(form.aim ?? $0)" } ?? ""
    print("\(isKept ? "   " : "!! ")\(form.form.name): \(tenths)\(limits)")
  }
  return areKept
}
