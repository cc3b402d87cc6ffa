#!/usr/bin/env bash
# A folder of Sources/Stepwise uses only types that it or a folder before it declares, and at most four files of a folder
# refer to each other in a circle. A file refers to another one when it names a type that is declared there, not nested.
. "$(dirname "$0")/common.sh"

order="Support Cancellation Time Callbacks Observation Chains/Plan Tracing Chains/Run Chains/Supervision Chains
  Progressions Flows/Answers Flows/Steps Flows/Run Flows Jobs ."

# FILE:TYPE, where a file may name a type of a later folder: the code of a step works on the frame of a run, and a step
# may be a chain. The plan uses no member of the frame, and of the chain only its path and its program.
allowed="Chains/Plan/Node.swift:Frame Chains/Plan/Node.swift:ChainCore"

references() {
  files Sources/Stepwise | only '*.swift' |
    order=$order allowed=$allowed xargs -0 awk '
      function folder(file) { return file ~ "/" ? substr(file, 1, match(file, "/[^/]*$") - 1) : "." }
      # Whether a path of references within the folder leads from one file to another.
      function reaches(from, to, seen,   next_file) {
        if (from in seen) return 0
        seen[from] = 1
        for (next_file in files)
          if ((from, next_file) in refers && (next_file == to || reaches(next_file, to, seen))) return 1
        return 0
      }
      BEGIN {
        count = split(ENVIRON["order"], names, " ")
        for (i = 1; i <= count; i++) rank[names[i]] = i
        count = split(ENVIRON["allowed"], names, " ")
        for (i = 1; i <= count; i++) exempt[names[i]] = 1
      }
      FNR == 1 {
        file = substr(FILENAME, length("Sources/Stepwise/") + 1)
        files[file] = folder(file)
        if (!(files[file] in rank)) { print FILENAME ": its folder has no place in the order"; rank[files[file]] = 99 }
        quoted = 0
      }
      {
        if (gsub("\"\"\"", "") % 2) quoted = !quoted
        if (quoted) next
        text = $0
        gsub("\"(\\\\.|[^\"\\\\])*\"", "", text)
        sub("//.*", "", text)
        declared = text
        if (sub("^([a-z@]+(\\([^)]*\\))? )*(class|struct|enum|protocol|actor|typealias) ", "", declared)) {
          sub("[^A-Za-z0-9_].*", "", declared)
          home[declared] = home[declared] file " "
        } else if (sub("^ +([a-z@]+(\\([^)]*\\))? )*(class|struct|enum|protocol|actor|typealias) ", "", declared)) {
          sub("[^A-Za-z0-9_].*", "", declared)
          nested[files[file], declared] = 1
        }
        while (match(text, "[A-Za-z_][A-Za-z0-9_]*")) {
          word = substr(text, RSTART, RLENGTH)
          text = substr(text, RSTART + RLENGTH)
          if (word ~ "^[A-Z]") uses[file, word] = FNR
        }
      }
      END {
        for (use in uses) {
          split(use, part, SUBSEP)
          from = part[1]; word = part[2]
          if (!(word in home) || (files[from], word) in nested || (from ":" word) in exempt) continue
          count = split(home[word], homes, " ")
          lowest = 99
          for (i = 1; i <= count; i++) {
            if (rank[files[homes[i]]] < lowest) lowest = rank[files[homes[i]]]
            if (homes[i] != from && files[homes[i]] == files[from]) refers[from, homes[i]] = 1
          }
          if (lowest > rank[files[from]])
            print "Sources/Stepwise/" from ":" uses[use] ": " word " is of a later folder"
        }
        for (from in files) {
          members = 1
          for (to in files) {
            if (to == from || files[to] != files[from]) continue
            split("", seen)
            if (!reaches(from, to, seen)) continue
            split("", seen)
            if (reaches(to, from, seen)) members++
          }
          if (members > 4) print "Sources/Stepwise/" from ": in a circle of " members " files"
        }
      }
    ' | sort
}

complain "names of later folders, or circles of files" references
finish
