#!/usr/bin/env perl
# Articles are read in the repository, too: they have relative links, and symbols in single backticks.
#
# articles.pl check FILE...                 each relative link leads to a file, and to a heading of it
# articles.pl convert CATALOGUE MODULE GRAPHS   rewrites the articles of a copy of a catalogue for DocC: a link to an article
#                                           beside it, and each symbol of the module that stands alone in backticks
use strict;
use warnings;
use File::Basename;

sub content { local (@ARGV, $/) = @_; my $text = <>; return $text }

# Calls this for each stretch of a page outside of blocks of code.
sub outside {
  my ($text, $change) = @_;
  my @parts = split /^(```.*?^```[^\n]*\n)/ms, $text;
  return join "", map { /^```/ ? $_ : $change->($_) } @parts;
}

# The fragment of a heading in the repository.
sub fragment {
  my $name = lc shift;
  $name =~ s/[^\w\- ]//g;
  $name =~ tr/ /-/;
  return $name;
}

# The headings of a page, by their fragments.
sub headings {
  my %headings;
  outside(content(shift), sub { $headings{fragment($1)} = $1 while $_[0] =~ /^#+ +(.+?) *$/mg; $_[0] });
  return \%headings;
}

sub check {
  my $wrong = 0;
  my $complain = sub { print "error: @_\n"; $wrong = 1 };
  for my $file (@_) {
    outside(content($file), sub {
      my $text = shift;
      $complain->("$file has $1, which only DocC reads") while $file =~ /[.]docc/ && $text =~ /(<?\bdoc:[^\s>)]+|``)/g;
      $text =~ s/`[^`\n]+`//g;
      while ($text =~ /(!?)\[[^\]]*\]\(([^)\s]+)\)/g) {
        my ($isImage, $path, $fragment) = ($1, split /#/, $2, 2);
        # The host has pages beside the repository's files, such as that of its tests.
        next if $path =~ m{^[a-z]+:|^\.\./\.\./actions/};
        # DocC looks for images in the folder of resources.
        my $target = $path eq "" ? $file : dirname($file) . ($isImage && $file =~ /[.]docc/ ? "/Resources/" : "/") . $path;
        if (!-e $target) { $complain->("$file links to $path, which does not exist") }
        elsif (defined $fragment && !headings($target)->{$fragment}) { $complain->("$file links to $path#$fragment, which has no such heading") }
      }
      return $text;
    });
  }
  exit $wrong;
}

sub convert {
  my ($catalogue, $module, $graphs) = @_;
  my %symbols = ($module => 1);
  for my $graph (glob "$graphs/*.symbols.json") {
    my ($json, @extended) = (content($graph), basename($graph) =~ /@(\w+)/);
    while ($json =~ /"pathComponents"\s*:\s*\[(.*?)\]/sg) { $symbols{join "/", @extended, $1 =~ /"((?:[^"\\]|\\.)*)"/g} = 1 }
  }
  my $symbol = sub {
    my $code = shift;
    my ($name) = $code =~ /^(.*?)(?:-[(>].*)?$/;
    return $symbols{$name} ? "``$code``" : "`$code`";
  };
  my $link = sub {
    my ($text, $article, $fragment) = @_;
    return undef unless -e "$catalogue/$article.md";
    return "[$text](doc:$article)" unless $fragment;
    return "[$text](doc:$article#" . (headings("$catalogue/$article.md")->{$fragment} =~ tr/ /-/r) . ")";
  };
  for my $file (glob "$catalogue/*.md") {
    my $text = outside(content($file), sub {
      my $text = shift;
      # What a page lists is a link alone; its title is that of the article.
      $text =~ s{^- \[[^\]]*\]\((\w+)[.]md\)$}{- <doc:$1>}mg;
      $text =~ s{(?<!!)\[([^\]]*)\]\((\w+)[.]md(?:#([\w-]+))?\)}{$link->($1, $2, $3) // $&}eg;
      $text =~ s{(\[[^\]]*\]\([^)]*\)|``[^`]+``)|`([^`\n]+)`}{defined $2 ? $symbol->($2) : $1}eg;
      return $text;
    });
    open my $out, ">", $file or die "$file: $!";
    print $out $text;
  }
}

my $command = shift // "";
if ($command eq "check") { check(@ARGV) }
elsif ($command eq "convert") { convert(@ARGV) }
else { die "usage: articles.pl check FILE... | convert CATALOGUE MODULE GRAPHS\n" }
