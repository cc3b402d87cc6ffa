// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Finds the circles of files of each module: the strongly connected components of the graph in which a file leads to another
// one when it refers to a symbol that is defined there.
//
// The references are the compiler's. A debug build writes them to its index store: for each file, each occurrence of a
// symbol with its role, also where the source does not name it, such as a conversion or a member of an inferred type.
//
//   circles STORE FOLDER   prints "circle MODULE SIZE FILES" for the largest circle of each module under the folder, and
//                          the files of each circle

import Foundation

func text(_ string: indexstore_string) -> String {
  String(decoding: UnsafeRawBufferPointer(start: string.data, count: string.length), as: UTF8.self)
}

/// Calls a function of libIndexStore that takes a context and a callback, with a closure.
func each<Element>(_ body: (Element) -> Void, _ apply: (UnsafeMutableRawPointer) -> Bool) {
  withoutActuallyEscaping(body) { body in
    var body = body
    withUnsafeMutablePointer(to: &body) { _ = apply(UnsafeMutableRawPointer($0)) }
  }
}

func call<Element>(_ context: UnsafeMutableRawPointer, _ element: Element) -> Bool {
  context.assumingMemoryBound(to: ((Element) -> Void).self).pointee(element)
  return true
}

let store = indexstore_store_create(CommandLine.arguments[1], nil)
let folder = URL(filePath: CommandLine.arguments[2]).standardizedFileURL.path + "/"
let (definition, reference): (UInt64, UInt64) = (1 << 1, 1 << 2)

/// The files that each module has today, with the symbols that each refers to, and the files that define a symbol.
var modules: [String: Set<String>] = [:]
var references: [String: Set<String>] = [:]
var definitions: [String: Set<String>] = [:]

func readUnit(_ name: indexstore_string) {
  let unit = indexstore_unit_reader_create(store, text(name), nil)
  let file = text(indexstore_unit_reader_get_main_file(unit))
  // The store also has what is left of files that are gone.
  let module = text(indexstore_unit_reader_get_module_name(unit))
  guard !module.isEmpty, file.hasPrefix(folder), FileManager.default.fileExists(atPath: file) else { return }
  modules[module, default: []].insert(file)
  each({ (dependency: indexstore_object) in
    let isRecord = indexstore_unit_dependency_get_kind(dependency) == 2
    guard isRecord, text(indexstore_unit_dependency_get_filepath(dependency)) == file else { return }
    let record = indexstore_record_reader_create(store, text(indexstore_unit_dependency_get_name(dependency)), nil)
    each({ (occurrence: indexstore_object) in
      let symbol = text(indexstore_symbol_get_usr(indexstore_occurrence_get_symbol(occurrence)))
      let roles = indexstore_occurrence_get_roles(occurrence)
      if roles & definition != 0 { definitions[symbol, default: []].insert(file) }
      if roles & reference != 0 { references[file, default: []].insert(symbol) }
    }) { indexstore_record_reader_occurrences_apply_f(record, $0) { call($0, $1) } }
  }) { indexstore_unit_reader_dependencies_apply_f(unit, $0) { call($0, $1) } }
}

/// The files that a path of references leads to.
func reach(_ file: String, _ edges: [String: Set<String>]) -> Set<String> {
  var (seen, left): (Set<String>, [String]) = ([], [file])
  while let next = left.popLast() {
    left += edges[next, default: []].subtracting(seen)
    seen.formUnion(edges[next, default: []])
  }
  return seen
}

each(readUnit) { indexstore_store_units_apply_f(store, 1, $0) { call($0, $1) } }
for (module, files) in modules.sorted(by: { $0.key < $1.key }) {
  var edges: [String: Set<String>] = [:]
  for file in files {
    for symbol in references[file, default: []] {
      let homes = definitions[symbol, default: []].intersection(files)
      if !homes.contains(file) { edges[file, default: []].formUnion(homes) }
    }
  }
  let reached = Dictionary(uniqueKeysWithValues: files.map { ($0, reach($0, edges)) })
  let circles = Set(
    files.map { file in reached[file, default: []].filter { reached[$0, default: []].contains(file) } }.filter {
      !$0.isEmpty
    }
  ).sorted { $0.count > $1.count }
  print("circle \(module) \(circles.first?.count ?? 1) \(files.count)")
  for circle in circles {
    print("  \(circle.count):", circle.map { $0.dropFirst(folder.count) }.sorted().joined(separator: " "))
    guard CommandLine.arguments.contains("--edges") else { continue }
    for file in circle.sorted() {
      for other in edges[file, default: []].intersection(circle).sorted() {
        let symbols = references[file, default: []].filter { definitions[$0, default: []].contains(other) }.sorted()
        print(
          "    \(file.dropFirst(folder.count)) -> \(other.dropFirst(folder.count)):",
          symbols.joined(separator: " ")
        )
      }
    }
  }
}
