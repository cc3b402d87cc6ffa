// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

/// The content of a checkpoint file, format 1 to 3.
///
/// Numbers are big-endian.
///
/// | bytes | what |
/// |---|---|
/// | 8 | `STEPWISE` |
/// | 4 | the format |
/// | 8 | the length of the file, from format 2 on without what was appended |
/// | 8 | CRC-64/XZ of these bytes without these 8 |
/// | 8 | the stage counter |
/// | 8 | the schema version |
/// | 8 | the checksum of the record |
/// | 4 + n | the length of the id, and the id |
/// | 4 + n | the length of the progression's name, and the name |
/// | 8 + n | the length of the first stage, and the first stage |
/// | 8 + n | the length of the last stage, and the last stage |
///
/// From format 2 on, entries were appended to the last stage, each in this form:
///
/// | bytes | what |
/// |---|---|
/// | 4 | the length of the entry |
/// | 4 | the same with all bits inverted |
/// | 8 | CRC-64/XZ of the stage counter after the entry, the length and the entry |
/// | n | the entry |
/// | 1 | 0xA5, from format 3 on: zeros at the end of the file were not written |
///
/// An entry that is incomplete at the end of the file was being written when the process or the machine died. It does not
/// count, and the next one replaces it. Every later format keeps the first four fields, so that damage can be
/// distinguished from a newer format.
struct CheckpointFile {
  static let newestFormat = 3
  private static let magic = Array("STEPWISE".utf8)
  private static let prefixLength = 28
  private static let endMark: UInt8 = 0xa5

  /// Returns the bytes of a record.
  static func bytes(of record: CheckpointRecord, format: Int = 1) -> [UInt8] {
    let (id, name) = (Array(record.id.utf8), Array(record.progression.utf8))
    let length = prefixLength + 48 + id.count + name.count + record.first.count + record.stage.count
    var bytes = magic
    bytes.reserveCapacity(length)
    bytes += UInt32(format).bigEndianBytes
    bytes += UInt64(length).bigEndianBytes
    bytes += [UInt8](repeating: 0, count: 8)
    bytes += record.version.bigEndianBytes
    bytes += Int64(record.schemaVersion).bigEndianBytes
    bytes += record.checksum.bigEndianBytes
    for text in [id, name] {
      bytes += UInt32(text.count).bigEndianBytes
      bytes += text
    }
    for stage in [record.first, record.stage] {
      bytes += UInt64(stage.count).bigEndianBytes
      bytes += stage
    }
    var sum = CRC64()
    sum.update(bytes[..<20])
    sum.update(bytes[prefixLength...])
    bytes.replaceSubrange(20..<prefixLength, with: sum.value.bigEndianBytes)
    return bytes
  }

  /// Returns the bytes of an entry that is appended as the stage with a number.
  static func bytes(ofEntry entry: [UInt8], version: UInt64) -> [UInt8] {
    let length = UInt32(entry.count)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entry.count + 17)
    bytes += length.bigEndianBytes
    bytes += (~length).bigEndianBytes
    bytes += sum(ofEntry: entry, version: version).bigEndianBytes
    bytes += entry
    bytes.append(endMark)
    return bytes
  }

  private static func sum(ofEntry entry: [UInt8], version: UInt64) -> UInt64 {
    var sum = CRC64()
    sum.update(version)
    sum.update(UInt64(entry.count))
    sum.update(entry)
    return sum.value
  }

  // MARK: - Reading

  private let file: OpenFile
  private let prefix: [UInt8]
  private let format: Int
  private let checksum: UInt64
  /// The length of what follows the prefix, without what was appended.
  private let bodyLength: Int
  private let appendedLength: Int

  /// Starts to read a file, which has to have the length that was written.
  ///
  /// It allocates no more memory than the size of the file, whatever the file contains.
  ///
  /// - Throws: `DataError` when the file is damaged, and the errors of the system.
  init(_ file: OpenFile) throws {
    let facts = FileFacts(try file.status())
    guard facts.isRegular else {
      throw DataError(reason: file.location.isDirectory ? "it is a directory" : "it is not a regular file")
    }
    self.file = file
    prefix = try file.read(Self.prefixLength)
    var reader = ByteReader(prefix)
    guard try reader.take(8).elementsEqual(Self.magic) else {
      throw DataError(reason: "it does not start with STEPWISE")
    }
    format = try Int(reader.number(UInt32.self))
    let length = try reader.number(UInt64.self)
    guard length == facts.size || format > 1 && length < facts.size && length > Self.prefixLength else {
      throw DataError(reason: "it has \(facts.size) bytes, and \(length) were written")
    }
    bodyLength = Int(length) - Self.prefixLength
    appendedLength = facts.size - Int(length)
    checksum = try reader.number(UInt64.self)
    guard format > 0 else { throw DataError(reason: "its format is 0") }
  }

  /// Reads only the id, which may be wrong if the file is damaged.
  func id() throws -> CheckpointID {
    var reader = ByteReader(try file.read(min(bodyLength, Self.prefixLength + CheckpointID.longest)))
    _ = try reader.take(24)
    return try CheckpointID(reader.text(UInt32.self))
  }

  /// Reads the record; the id is for the error of a newer format.
  func record(of id: CheckpointID?) throws -> CheckpointRecord {
    let bytes = try file.read(bodyLength)
    guard bytes.count == bodyLength else { throw DataError(reason: "it is truncated") }
    var sum = CRC64()
    sum.update(prefix.prefix(20))
    sum.update(bytes)
    guard sum.value == checksum else { throw DataError(reason: "its checksum does not match its content") }
    guard format <= Self.newestFormat else {
      let (id, location) = (id?.text ?? "", file.location.path)
      throw CheckpointError.newerFormat(id: id, location: location, format: format, known: Self.newestFormat)
    }
    var body = ByteReader(bytes)
    var version = try body.number(UInt64.self)
    let schemaVersion = try Int(body.number(Int64.self))
    let checksum = try body.number(UInt64.self)
    let (id, name) = (try body.text(UInt32.self), try body.text(UInt32.self))
    let first = try body.bytes(UInt64.self)
    var stage = try body.bytes(UInt64.self)
    guard body.isAtEnd else { throw DataError(reason: "it has \(body.rest.count) extra bytes") }
    var appended = ByteReader(appendedLength > 0 ? try file.read(appendedLength) : [])
    let savedVersion = version
    while let entry = try entry(from: &appended, version: version &+ 1) {
      version &+= 1
      stage += CheckpointEntries.bytes(of: entry)
    }
    var record = CheckpointRecord(
      id: id,
      progression: name,
      schemaVersion: schemaVersion,
      version: version,
      first: first,
      stage: stage
    )
    // What was appended has checksums of its own.
    if version == savedVersion { record.checksum = checksum }
    return record
  }

  /// Reads the next entry; nil at the end, and for one that was not written completely.
  private func entry(from reader: inout ByteReader, version: UInt64) throws(DataError) -> [UInt8]? {
    guard reader.rest.count >= 16 else { return nil }
    let (length, copy) = (try reader.number(UInt32.self), try reader.number(UInt32.self))
    let checksum = try reader.number(UInt64.self)
    guard ~length == copy else {
      // After a power failure, a file may have its new length, and zeros in place of the new content.
      if checksum & 0xff == 0, reader.rest.allSatisfy({ $0 == 0 }) { return nil }
      throw DataError(reason: "the length of an entry does not match its copy")
    }
    let markLength = format > 2 ? 1 : 0
    guard Int(length) + markLength <= reader.rest.count else { return nil }
    let entry = Array(try reader.take(Int(length)))
    let mark = try reader.take(markLength).first
    let isIntact = Self.sum(ofEntry: entry, version: version) == checksum
    guard isIntact, mark ?? Self.endMark == Self.endMark else {
      if reader.isAtEnd, mark ?? entry.last == 0 { return nil }
      throw DataError(reason: "the checksum of an entry does not match its content")
    }
    return entry
  }
}
