#!/usr/bin/env bash
# Words and phrases that the documentation, the comments, the texts and the names of the project do without, because
# there is a plain term for each: a role instead of "somebody", "release" instead of "let go of". A phrase is also found
# where a line break divides it.
. "$(dirname "$0")/common.sh"

words='[Ww]hoever|[Ww]homever|[Ss]omebody|[Nn]obody|(^|[^A-Za-z])whom([^a-z]|$)|Whom([^a-z]|$)'
words="$words|(^|[^A-Za-z])anew([^a-z]|\$)|Anew([^a-z]|\$)|(^|[^A-Za-z])heed(s|ed|ing)?([^a-z]|\$)|Heed(s|ed|ing)?([^a-z]|\$)"
words="$words|(^|[^A-Za-z])joints([^a-z]|\$)|[Mm]isuse reports?([^a-z]|\$)"
words="$words|[Ll]et(s|ting)? go of|[Ll]etting (it |them |this )?go([^a-z]|\$)|[Ll]et(s|ting)?Go([^a-z]|\$)"
words="$words|[Bb]y itself|ByItself|[Aa]ll the same([^a-z]|\$)|AllTheSame|[Ss]ide by side|SideBySide"
words="$words|[Ss]o many at a time|SoManyAtATime|[Tt]ak(es?|en|ing) back|Tak(es?|en|ing)Back"

# Prints every line with one of the words, and every line that completes one begun on the line before.
using() {
  # shellcheck disable=SC2016
  files README.md Migration.md Sources Tests .github | only '*' '*/check-words.sh' | words=$words xargs -0 awk '
    FNR == 1 { tail = "" }
    {
      text = $0
      sub("^[ \t]*(//+|#+|\\*|>|-)?[ \t]*", "", text)
      isUsed = text ~ ENVIRON["words"]
      if (isUsed || (tail != "" && tail !~ ENVIRON["words"] && (tail " " text) ~ ENVIRON["words"])) {
        print FILENAME ":" FNR ": " $0
      }
      count = split(text, part, "[ \t]+")
      tail = ""
      for (i = (count > 4 ? count - 3 : 1); i <= count; i++) tail = tail (tail == "" ? "" : " ") part[i]
    }
  ' /dev/null
}

complain "words that have a plain term" using
finish
