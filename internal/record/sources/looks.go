package sources

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// isTar reports whether a file is a tar archive (POSIX: ustar interchange format). Its first member
// may be a source, so this is asked before the sources are.
func isTar(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }

// binaries are what a person who looks for a cause is likely to give by mistake, known by how it
// begins. They are tried before the engines' looks.
var binaries = []Look{
	{func(head []byte) bool { return len(head) == 0 }, "is an empty file: nothing was written to it"},
	{isTar, "looks like a tar archive: untar it first and give what is in it"},
	{Starts("PK\x03\x04"), "looks like a zip archive: unzip it first and give what is in it"},
	{Starts("\xfd7zXZ\x00"), "is compressed by xz: decompress it first (xz -d)"},
	{Starts("7z\xbc\xaf\x27\x1c"), "looks like a 7-Zip archive: unpack it first and give what is in it"},
	{Starts("\x7fELF"), "is a program (ELF), not something recorded"},
	{Starts("%PDF"), "is a PDF: give the log or the capture itself"},
	{Starts("SQLite format 3"), "is an SQLite database, not something recorded"},
}

// texts are what is told by less: they are tried last.
var texts = []Look{
	{Matches(`(?m)^\s*(write|read|trim)\s*: IOPS=`), "is fio's report for people: run fio with --output-format=json"},
	{Matches(`^\d+, \d+, [012], \d+, \d+(, \d+)?\s`), "is a log of fio without its times: give the JSON beside it (--output-format=json)"},
	{Matches(`(?m)^procs -+memory`), "is vmstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(`(?m)^Linux .*\(.*\)[\s\S]*(DEV +tps|pgpgin/s|runq-sz|kbmemfree)`), "is sar's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(`(?m)^Linux .*\(.*\)[\s\S]*CPU +%usr`), "is mpstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(`^\s*\{\s*"status"\s*:\s*"(success|error)"`), "is an answer of Prometheus' API: give the server's address itself"},
	{Matches(`(?i)^\s*(<!doctype html|<html)`), "is a web page, not the metrics or the log itself"},
	{Matches(`^\s*[\[{]`), "is JSON, but neither iostat's (-o JSON) nor fio's (--output-format=json)"},
	{Matches(`^\s*(---|[A-Za-z_]+:\s)`), "looks like YAML, not like something recorded"},
}

// looksLike says what a file that is no source is, in the words after its name.
func (o *Opener) looksLike(head []byte, kind packing) string {
	const instead = "a source is a diagnostic.data folder, an iostat log, saved metrics, fio's JSON, a recording, a URL or host"
	within := ""
	if kind != plain {
		within = fmt.Sprintf("(compressed by %s) ", kind)
	}
	for _, l := range slices.Concat(binaries, o.looks, texts) {
		if l.Is(head) {
			return within + l.Text
		}
	}
	const shown = 48
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if len(first) > shown {
		first = first[:shown]
		for len(first) > 0 && !utf8.Valid(first) && shown-len(first) < utf8.UTFMax {
			first = first[:len(first)-1]
		}
	}
	if !utf8.Valid(first) || bytes.IndexByte(head, 0) >= 0 {
		return within + fmt.Sprintf("is binary data of no known kind (it starts with % x): %s", head[:min(len(head), 8)], instead)
	}
	return within + fmt.Sprintf("is text of no known kind (it starts with %q): %s", first, instead)
}
