// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The value that is passed from step to step: one value of any type, or none.
///
/// Steps of different types share one block of raw memory, so that passing a value neither boxes nor casts it. Each
/// step knows the type statically, because `then` only accepts a step whose input is the previous output; debug builds
/// check it as well. A value that is not consumed, because the run ended, is destroyed with the slot.
@usableFromInline
// Safety: it has one owner, since it is not copyable, and holds only Sendable values.
package struct ValueSlot: ~Copyable, @unchecked Sendable {
  @usableFromInline var memory: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  @usableFromInline var occupant: (any Sendable.Type)?

  /// Types with a larger alignment get their own memory.
  @usableFromInline static var alignment: Int { 8 }

  /// Most values fit, so that few steps need more memory than the first.
  private static var usualCapacity: Int { 64 }

  // Safety: only values without a size are here, so that nothing is ever read or written.
  private nonisolated(unsafe) static let noMemory = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: alignment)

  /// Creates an empty slot, which allocates memory for its first value.
  @usableFromInline
  init() {
    capacity = 0
    memory = Self.noMemory
  }

  init<Value: Sendable>(_ value: consuming Value) {
    self.init()
    put(value)
  }

  deinit {
    if let occupant { Self.destroy(occupant, at: memory) }
    if capacity > 0 { memory.deallocate() }
  }

  @inlinable
  mutating func put<Value: Sendable>(_ value: consuming Value) {
    assert(occupant == nil, "\(occupant as Any) is still here")
    if MemoryLayout<Value>.size > capacity || MemoryLayout<Value>.alignment > Self.alignment {
      makeRoom(for: Value.self)
    }
    memory.initializeMemory(as: Value.self, to: value)
    occupant = Value.self
  }

  @inlinable
  mutating func take<Value: Sendable>(_ type: Value.Type = Value.self) -> Value {
    assert(occupant == Value.self, "\(Value.self) was expected of the step before, which left \(occupant as Any)")
    occupant = nil
    return memory.assumingMemoryBound(to: Value.self).move()
  }

  /// Returns a copy of the value and leaves it in the slot.
  @inlinable
  func copy<Value: Sendable>(as type: Value.Type) -> Value {
    assert(occupant == Value.self, "\(Value.self) was expected of the step before, which left \(occupant as Any)")
    return memory.assumingMemoryBound(to: Value.self).pointee
  }

  /// A copy of the value, which stays in the slot; the empty tuple when there is none.
  var erased: any Sendable {
    guard let occupant else { return () }
    return Self.erased(occupant, at: memory)
  }

  private static func erased<Value: Sendable>(_ type: Value.Type, at memory: UnsafeMutableRawPointer) -> any Sendable {
    memory.assumingMemoryBound(to: Value.self).pointee
  }

  /// Another slot with a copy of the value, if there is one.
  func copied() -> ValueSlot {
    var copy = ValueSlot()
    if let occupant { Self.copy(occupant, at: memory, to: &copy) }
    return copy
  }

  private static func copy<Value: Sendable>(
    _ type: Value.Type,
    at memory: UnsafeMutableRawPointer,
    to slot: inout ValueSlot
  ) {
    slot.put(memory.assumingMemoryBound(to: Value.self).pointee)
  }

  @usableFromInline
  mutating func makeRoom<Value>(for type: Value.Type) {
    if capacity > 0 { memory.deallocate() }
    capacity = max(capacity, Self.usualCapacity, MemoryLayout<Value>.size)
    memory = .allocate(byteCount: capacity, alignment: max(Self.alignment, MemoryLayout<Value>.alignment))
  }

  private static func destroy<Value>(_ type: Value.Type, at memory: UnsafeMutableRawPointer) {
    memory.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
  }
}
