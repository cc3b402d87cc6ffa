# Writes a Swift file with one function of steps that do what steps do: split, map, filter, reduce, operators, calls. One of them
# may have a mistake, on the line that ends with `// mistake`.
#
#   awk -v library=Stepwise -v steps=10 -v mistake=member -f steps.awk
#
# library: Stepwise; or Plain, the same statements without `step`.
# mistake: what is wrong with a step in the middle; see `body`.

function body(number,    v, wrong) {
  v = "v" (number - 1)
  wrong = number == middle ? mistake : "none"
  if (number % 5 == 1) return v ".split(separator: \",\").compactMap { Int($0) }"
  if (number % 5 == 2) {
    if (wrong == "member") return v ".map { $0 * 2 }.fliter { $0 > 1 }"
    if (wrong == "variable") return v ".map { $0 * factr }.filter { $0 > 1 }"
    if (wrong == "type") return v ".map { $0 * 2 }.filter { $0 > \"1\" }"
    return v ".map { $0 * 2 }.filter { $0 > 1 }"
  }
  if (number % 5 == 3) return wrong == "operator" ? v ".reduce(\"\", +) + 2" : v ".reduce(0, +) + list.count * 2"
  if (number % 5 == 4) return "Double(" v ") * 1.5 + (" v " > 10 ? 1 : 0)"
  if (wrong == "call") return "try await describbe(" v ", least: list.sorted { $0 < $1 }.first ?? 0)"
  if (wrong == "label") return "try await describe(" v ", most: list.sorted { $0 < $1 }.first ?? 0)"
  if (wrong == "try") return "await describe(" v ", least: list.sorted { $0 < $1 }.first ?? 0)"
  if (wrong == "await") return "try describe(" v ", least: list.sorted { $0 < $1 }.first ?? 0)"
  return "try await describe(" v ", least: list.sorted { $0 < $1 }.first ?? 0)"
}

# The kind of step that can have the mistake.
function kind() {
  if (mistake ~ /^(member|variable|type)$/) return 2
  return mistake == "operator" ? 3 : 0
}

BEGIN {
  middle = int(steps / 2 / 5) * 5 + kind()
  if (middle == 0) middle = 5
  print "import Stepwise"
  print "let list = [3, 1, 2]"
  print "func describe(_ number: Double, least: Int) async throws -> String { \"\\(number), \\(least)\" }"
  print "func release(_ text: String, of list: [Int]) async throws {}"
  print "func work(_ v0: String) async throws {"
  for (number = 1; number <= steps; number++) {
    text = body(number)
    if (library == "Stepwise") text = "try await step(\"s" number "\") { " text " }"
    if (library == "Stepwise" && number % 5 == 0) text = text " undo: { text in try await release(text, of: list) }"
    print "  let v" number " = " text (number == middle && mistake != "none" ? "  // mistake" : "")
  }
  print "  print(v" steps ")"
  print "}"
}
