# Writes a Swift file with one chain that has one mistake, on the line that ends with `// mistake`.
#
#   awk -v library=Stepwise -v steps=10 -v form=named -v types=none -v mistake=member -f chain.awk
#
# library: Stepwise; or StandIn, which has one single `then`.
# form:    how a step is written; see `step`.
# types:   what closures say about their types: none, input, output or annotated (both).
# mistake: what is wrong with the step in the middle; see `body`.

function type(number) { return form == "operators" ? "Int" : "T" number }

# What a step returns: the value of the next type, made from the value before.
function body(number) {
  if (number != middle || mistake == "none") {
    return form == "operators" ? "x * 2 + (list.first ?? " number ")" : "try await f" number "(x)"
  }
  if (mistake == "member") return form == "operators" ? "x * 2 + (list.frist ?? 0)" : "try await f" number "(x.foo)"
  if (mistake == "function") return "try await wrong" number "(x)"
  if (mistake == "unknown") return "try await g" number "(x)"
  if (mistake == "return") return "\"text\""
  if (mistake == "try") return "await throwing" number "(x)"
  if (mistake == "capture") return form == "operators" ? "box.changed(x) * 2" : "try await f" number "(box.changed(x))"
}

# The line where the types stop fitting: for a function that returns the wrong type, that is the line of the next step.
function mark(number) {
  return mistake != "none" && number == middle + (mistake == "return" && isFunctions) ? "  // mistake" : ""
}

# The first step always says what the chain takes.
function parameter(number) {
  if (types == "output" && number > 1) return "x -> " type(number) " in"
  if (types == "annotated" || types == "output") return "(x: " type(number - 1) ") -> " type(number) " in"
  return (types == "input" || number == 1 ? "(x: " type(number - 1) ")" : "x") " in"
}

# A mistake within a function is a matter of that function alone.
function functionName(number) {
  if (number == middle && mistake == "function") return "wrong" number
  if (number == middle && mistake == "unknown") return "g" number
  if (number == middle && mistake == "return") return "text" number
  if (number == middle && mistake == "capture") return "box.f" number
  return "f" number
}

function step(number,    name, head, closure, end) {
  name = "\"s" number "\""
  head = number == 1 ? "Chain" : "  .then"
  closure = "{ " parameter(number) " " body(number) " }"
  end = mark(number)
  if (form == "functions") return head "(" functionName(number) ")" end
  if (form == "named-functions") return head "(" name ", " functionName(number) ")" end
  if (form == "unnamed") return head " " closure end
  if (form == "statements") {
    return head "(" name ") { " parameter(number) "\n    let y = " body(number) (mistake == "return" ? "" : end) \
      "\n    return y" (mistake == "return" ? end : "") "\n  }"
  }
  if (number > 1 && form == "undo") return "  .then(" name ", undo: { y in try await undo(y) }) " closure end
  if (number > 1 && form == "steps") return "  .appending(Step(" name ") " closure ")" end
  if (form == "mixed") {
    # One of each kind, as in the README.
    if (number == 2) return "  .then(" name ") " closure end "\n    .recover { _ in T2() }"
    if (number == 3) return "  .appending(Step(" name ") " closure ".timeout(.seconds(5)))" end
    if (number == 4) return "  .then(" name ", undo: { y in try await undo(y) }) " closure end
    if (number == steps) {
      return "  .then(" name ") " closure end \
        "\n    .retry(policy)\n    .onError { error in print(error) }\n    .finally { _ in }"
    }
  }
  return head "(" name ") " closure end
}

function standIn(    name, undo) {
  name = form == "unnamed" || form == "functions" ? "" : "_ name: String, "
  undo = form == "undo" ? "undo: @escaping @Sendable (Next) async throws -> Void, " : ""
  print "struct Chain<Input: Sendable, Output: Sendable>: Sendable {"
  print "  init(" name "_ body: @escaping @Sendable (Input) async throws -> Output) {}"
  print "  func then<Next: Sendable>(" name undo "_ body: @escaping @Sendable (Output) async throws -> Next)"
  print "    -> Chain<Input, Next> { fatalError() }"
  print "}"
}

BEGIN {
  middle = int((steps + 1) / 2)
  isFunctions = form ~ /functions/
  if (library == "Stepwise") print "import Stepwise"
  else standIn()
  if (form == "mixed") print "let policy = RetryPolicy(maxAttempts: 3, backoff: .none)"
  print "let list = [1, 2, 3]"
  print "func undo<Value>(_ value: Value) async throws {}"
  for (number = 0; number <= steps + 1; number++) print "struct T" number ": Sendable {}"
  for (number = 1; number <= steps; number++) {
    value = "T" number "()"
    if (isFunctions && number == middle && mistake == "member") value = "x.foo  // mistake"
    if (isFunctions && number == middle && mistake == "try") value = "await throwing" number "(x)  // mistake"
    print "@Sendable func f" number "(_ x: T" (number - 1) ") async throws -> T" number " {\n  " value "\n}"
  }
  value = form == "operators" ? "1" : "T" middle "()"
  signature = "(_ x: " type(middle - 1) ") async throws -> "
  print "@Sendable func wrong" middle "(_ x: T" (middle + 1) ") async throws -> " type(middle) " { " value " }"
  print "func throwing" middle signature type(middle) " { " value " }"
  print "@Sendable func text" middle signature "String { \"text\" }"
  print "final class Box {"
  print "  var count = 0"
  print "  func changed<Value>(_ value: Value) -> Value { count += 1; return value }"
  print "  func f" middle signature type(middle) " { " value " }"
  print "}"
  print "func make(_ box: Box) -> Chain<" type(0) ", " type(steps) "> {"
  for (number = 1; number <= steps; number++) {
    text = step(number)
    if (isFunctions && (mistake == "member" || mistake == "try")) sub("  // mistake", "", text)
    print "  " text
  }
  print "}"
}
