package sources

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// look is how a kind of file that is no source shows itself, and what to give instead.
type look struct {
	is   func(head []byte) bool
	text string
}

func starts(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

func matches(pattern string) func([]byte) bool {
	re := regexp.MustCompile(pattern)
	return func(head []byte) bool { return re.Match(head[:min(len(head), 4096)]) }
}

// isTar reports whether a file is a tar archive (POSIX: ustar interchange format). Its first member
// may be a source, so this is asked before the sources are.
func isTar(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }

// looks are tried in order: what a person who looks for a cause is likely to give by mistake.
var looks = []look{
	{func(head []byte) bool { return len(head) == 0 }, "is an empty file: nothing was written to it"},
	{isTar, "looks like a tar archive: untar it first and give what is in it"},
	{starts("PK\x03\x04"), "looks like a zip archive: unzip it first and give what is in it"},
	{starts("\xfd7zXZ\x00"), "is compressed by xz: decompress it first (xz -d)"},
	{starts("7z\xbc\xaf\x27\x1c"), "looks like a 7-Zip archive: unpack it first and give what is in it"},
	{starts("\x7fELF"), "is a program (ELF), not something recorded"},
	{starts("%PDF"), "is a PDF: give the log or the capture itself"},
	// WT_BLOCK_MAGIC, 120897 in little endian (WiredTiger: block.h).
	{starts("\x41\xd8\x01\x00"), "is one of WiredTiger's own files: give the diagnostic.data folder that lies in the dbPath"},
	{starts("SQLite format 3"), "is an SQLite database, not something recorded"},
	{matches(`^\{"t":\{"\$date"`), "is a mongod log, which tells slow operations but no disk or cache figures: give the diagnostic.data folder of the same server"},
	{matches(`^\d{4}-\d\d-\d\dT[\d:.+-]+Z? +[IWEFD]\d? +[A-Z]+ `), "is a mongod log of before 4.4, which tells no disk or cache figures: give the diagnostic.data folder of the same server"},
	{matches(`(?m)^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\].*(LOG|ERROR|FATAL|WARNING|STATEMENT): `), "is a PostgreSQL log: give what its exporter shows under /metrics, and an iostat log"},
	{matches(`^\{"level":"(info|warn|error|debug)","ts":"`), "is an etcd log: give what etcd shows under /metrics"},
	{matches(`(?m)^\s*(write|read|trim)\s*: IOPS=`), "is fio's report for people: run fio with --output-format=json"},
	{matches(`^\d+, \d+, [012], \d+, \d+(, \d+)?\s`), "is a log of fio without its times: give the JSON beside it (--output-format=json)"},
	{matches(`(?m)^procs -+memory`), "is vmstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{matches(`(?m)^Linux .*\(.*\)[\s\S]*(DEV +tps|pgpgin/s|runq-sz|kbmemfree)`), "is sar's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{matches(`(?m)^Linux .*\(.*\)[\s\S]*CPU +%usr`), "is mpstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{matches(`^\s*\{\s*"status"\s*:\s*"(success|error)"`), "is an answer of Prometheus' API: give the server's address itself"},
	{matches(`(?i)^\s*(<!doctype html|<html)`), "is a web page, not the metrics or the log itself"},
	{matches(`^\s*[\[{]`), "is JSON, but neither iostat's (-o JSON) nor fio's (--output-format=json)"},
	{matches(`^\s*(---|[A-Za-z_]+:\s)`), "looks like YAML, not like something recorded"},
}

// looksLike says what a file that is no source is, in the words after its name.
func looksLike(head []byte, kind packing) string {
	const instead = "a source is a diagnostic.data folder, an iostat log, saved metrics, fio's JSON, a recording, a URL or host"
	within := ""
	if kind != plain {
		within = fmt.Sprintf("(compressed by %s) ", kind)
	}
	for _, l := range looks {
		if l.is(head) {
			return within + l.text
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
