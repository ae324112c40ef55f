package recognise

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// isTar reports whether a file is a tar archive (POSIX: ustar interchange format). Its first member
// may look like a source, so this check comes first.
func isTar(head []byte) bool { return len(head) > 262 && string(head[257:262]) == "ustar" }

// binaries recognise files that are likely to be given by mistake, by their first bytes. They are
// tried before the engines' looks.
var binaries = []Look{
	{func(head []byte) bool { return len(head) == 0 }, "is an empty file: nothing was written to it"},
	{isTar, "looks like a tar archive: unpack it first and give its contents"},
	{Starts("PK\x03\x04"), "looks like a zip archive: unzip it first and give its contents"},
	{Starts("\xfd7zXZ\x00"), "is compressed with xz: decompress it first (xz -d)"},
	{Starts("7z\xbc\xaf\x27\x1c"), "looks like a 7-Zip archive: unpack it first and give its contents"},
	{Starts("\x7fELF"), "is a program (ELF), not a source"},
	{Starts("%PDF"), "is a PDF: give the log or the capture itself"},
	{Starts("SQLite format 3"), "is an SQLite database, not a source"},
}

// texts have weaker signs, so they are tried last.
var texts = []Look{
	{Matches(
		`(?m)^\s*(write|read|trim)\s*: IOPS=`), "is a part of fio's text report, without the line that names the job: give the whole report, or run fio with --output-format=json"},
	{Matches(
		`(?m)^fio: `), "is fio's output without the result of a job, because fio reported an error: correct the job and run it with --output-format=json"},
	{Matches(
		`^\d+, \d+, [012], \d+, \d+(, \d+)?\s`), "is a fio log, which has no absolute times: give the JSON next to it (--output-format=json)"},
	{Matches(`(?m)^\s*#ts +device +rd_s`), "is the table of pt-diskstats: give the samples that it was made of (its --save-samples, or pt-stalk's files *-diskstats)"},
	{Matches(`(?m)^procs -+memory`), "is vmstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(
		`(?m)^Linux .*\(.*\)[\s\S]*CPU +%usr`), "is mpstat's output: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(
		`(?m)^\S+( [AP]M)? +UID +PID +.*Command`), "is pidstat's output, which has no device latency: record with S_TIME_FORMAT=ISO iostat -xt 1"},
	{Matches(
		`^\s*\{\s*"sysstat"`), "is JSON of mpstat or pidstat, which has no devices: record with S_TIME_FORMAT=ISO iostat -xt -o JSON 1"},
	{Matches(
		`(?i)^"?(time|timestamp|date|series)"?[,;]`), `is a table (CSV), which does not say what its columns are: save the response of the query instead, with curl -G http://PROMETHEUS:9090/api/v1/query_range --data-urlencode 'query={instance="HOST:9100"}' -d start=FROM -d end=TO -d step=15`},
	{Matches(`(?i)^\s*(<!doctype html|<html)`), "is a web page, not metrics or a log"},
	{Matches(
		`^\s*[\[{]`), "is unknown JSON: supported are iostat (-o JSON), sadf (-j), fio (--output-format=json), and responses of Prometheus' API and of aws cloudwatch"},
	{Matches(`^\s*(---|[A-Za-z_]+:\s)`), "looks like YAML, which is not a source"},
}

// looksLike describes a file that is not a source, in words that follow its name.
func (o *Opener) looksLike(head []byte, kind packing) string {
	const instead = "give a diagnostic.data folder, an iostat log, a sar report, saved metrics, fio's JSON, a recording, a URL or host"
	within := ""
	if kind != plain {
		within = fmt.Sprintf("(compressed with %s) ", kind)
	}

	is := func(l Look) bool { return l.Is(head) }
	if i := slices.IndexFunc(binaries, is); i >= 0 {
		return within + binaries[i].Text
	}
	if means := o.configuration(head); means != "" {
		return within + means
	}
	for _, l := range o.looks {
		if l.Is(head) {
			return within + o.serverOf(l.of, l.Text)
		}
	}
	if i := slices.IndexFunc(texts, is); i >= 0 {
		return within + texts[i].Text
	}

	const shown = 48
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if len(first) > shown {
		// The cut may be within a character; up to three bytes of it are removed.
		first = first[:shown]
		for len(first) > 0 && !utf8.Valid(first) && shown-len(first) < utf8.UTFMax {
			first = first[:len(first)-1]
		}
	}

	if !utf8.Valid(first) || bytes.IndexByte(head, 0) >= 0 {
		return within + fmt.Sprintf("is unknown binary data (it starts with % x): %s",
			head[:min(len(head), 8)], instead)
	}

	return within + fmt.Sprintf("is unknown text (it starts with %q): %s", first, instead)
}
