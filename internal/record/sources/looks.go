package sources

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// isTar reports whether a file is a tar archive (POSIX: ustar interchange format). Its first member
// may be a source, so this is checked before the sources.
func isTar(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }

// binaries are files that are likely to be given by mistake, recognised by their first bytes. They
// are tried before the engines' looks.
var binaries = []Look{
	{func(head []byte) bool { return len(head) == 0 }, "is an empty file: nothing was written to it"},
	{isTar, "looks like a tar archive: unpack it first and give its contents"},
	{Starts("PK\x03\x04"), "looks like a zip archive: unzip it first and give its contents"},
	{Starts("\xfd7zXZ\x00"), "is compressed with xz: decompress it first (xz -d)"},
	{Starts("7z\xbc\xaf\x27\x1c"), "looks like a 7-Zip archive: unpack it first and give its contents"},
	{Starts(
		"\x96\xd5"), "is sar's own file, in the format of one version of sysstat: print it where it was made with: sadf -j FILE -- -d -u > sar.json"},
	{Starts("\x7fELF"), "is a program (ELF), not a source"},
	{Starts("%PDF"), "is a PDF: give the log or the capture itself"},
	{Starts("SQLite format 3"), "is an SQLite database, not a source"},
}

// texts have weaker signs: they are tried last.
var texts = []Look{
	{Matches(
		`(?m)^\s*(write|read|trim)\s*: IOPS=`), "is a part of fio's text report, without the line that names the job: give all of it, or run fio with --output-format=json"},
	{Matches(
		`^\d+, \d+, [012], \d+, \d+(, \d+)?\s`), "is a fio log, which has no absolute times: give the JSON next to it (--output-format=json)"},
	{Matches(`(?m)^procs -+memory`), "is vmstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(
		`(?m)^Linux .*\(.*\)[\s\S]*CPU +%usr`), "is mpstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(
		`(?m)^\S+( [AP]M)? +UID +PID +.*Command`), "is pidstat's output, which tells processes apart but has no latency of devices: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(
		`^\s*\{\s*"sysstat"`), "is JSON of mpstat or pidstat, which have no devices: record with S_TIME_FORMAT=ISO iostat -xt -o JSON 1"},
	{Matches(
		`(?m)^\[ \d+s \] thds: \d+ tps: `), "is sysbench's report, which has the clients' side only: run plimsoll record on the server meanwhile and give that"},
	{Matches(
		`(?m)^\[(OVERALL|READ|UPDATE|INSERT)\], `), "is YCSB's report, which has the clients' side only: run plimsoll record on the server meanwhile and give that"},
	{Matches(
		`(?i)^"?(time|timestamp|date|series)"?[,;]`), `is a table (CSV), which does not say what its columns are of: save the query's answer instead, with curl -G http://PROMETHEUS:9090/api/v1/query_range --data-urlencode 'query={instance="HOST:9100"}' -d start=FROM -d end=TO -d step=15`},
	{Matches(`(?i)^\s*(<!doctype html|<html)`), "is a web page, not the metrics or the log itself"},
	{Matches(
		`^\s*[\[{]`), "is JSON of an unknown kind: known are iostat's (-o JSON), sadf's (-j), fio's (--output-format=json), answers of Prometheus' API and of aws cloudwatch"},
	{Matches(`^\s*(---|[A-Za-z_]+:\s)`), "looks like YAML, not like a source"},
}

// looksLike describes a file that is not a source, in the words after its name.
func (o *Opener) looksLike(head []byte, kind packing) string {
	const instead = "a source is a diagnostic.data folder, an iostat log, a report of sar, saved metrics, fio's JSON, a recording, a URL or host"
	within := ""
	if kind != plain {
		within = fmt.Sprintf("(compressed with %s) ", kind)
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
		return within + fmt.Sprintf("is binary data of an unknown kind (it starts with % x): %s",
			head[:min(len(head), 8)], instead)
	}

	return within + fmt.Sprintf("is text of an unknown kind (it starts with %q): %s", first, instead)
}
