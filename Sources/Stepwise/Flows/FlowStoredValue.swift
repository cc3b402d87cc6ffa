// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a decoder gives that asks nobody else.
protocol FlowStoredValue {
  /// Nil when the stored is something else, or out of range.
  init?(stored: FlowStored)
}

extension FlowStoredValue where Self: BinaryInteger {
  init?(stored: FlowStored) {
    switch stored {
    case .integer(let value): self.init(exactly: value)
    case .natural(let value): self.init(exactly: value)
    case .number(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension FlowStoredValue where Self: BinaryFloatingPoint {
  init?(stored: FlowStored) {
    switch stored {
    case .integer(let value): self.init(value)
    case .natural(let value): self.init(value)
    case .number(let value): self.init(value)
    default: return nil
    }
  }
}

extension Bool: FlowStoredValue {
  init?(stored: FlowStored) {
    guard case .bool(let value) = stored else { return nil }
    self = value
  }
}

extension String: FlowStoredValue {
  init?(stored: FlowStored) {
    guard case .text(let value) = stored else { return nil }
    self = value
  }
}

extension Double: FlowStoredValue {}
extension Float: FlowStoredValue {}
extension Int: FlowStoredValue {}
extension Int8: FlowStoredValue {}
extension Int16: FlowStoredValue {}
extension Int32: FlowStoredValue {}
extension Int64: FlowStoredValue {}
extension Int128: FlowStoredValue {}
extension UInt: FlowStoredValue {}
extension UInt8: FlowStoredValue {}
extension UInt16: FlowStoredValue {}
extension UInt32: FlowStoredValue {}
extension UInt64: FlowStoredValue {}
extension UInt128: FlowStoredValue {}
