package pglog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/serverlog"
)

// slowFrom is the duration above which a statement counts as slow. A server with
// log_min_duration_statement = 0 logs all of them.
const slowFrom = 100 * time.Millisecond

// beginsWithin is how much of a message shows its language.
const beginsWithin = 40

type parser struct {
	events *serverlog.Events
	// vacuum is the time of the autovacuum line that a line with the elapsed time continues; zero if
	// there is none.
	vacuum time.Time
}

// End implements serverlog.Parser.
func (p *parser) End(time.Time) {}

// Line implements serverlog.Parser.
func (p *parser) Line(at time.Time, text []byte) {
	message := messageOf(text)

	// A statement in the message may contain such words too, so only its beginning counts. In some
	// languages the severity itself is another word.
	beginning := message[:min(len(message), beginsWithin)]
	if prefix, _, ok := cutSeverity(text); ok && text[0] != '{' && !isCSV(text) {
		beginning = string(text[len(prefix):min(len(text), len(prefix)+beginsWithin)])
	}
	if l := foreign([]byte(beginning)); l != "" {
		p.events.Unread(fmt.Sprintf("messages in %s: only English ones are read; set lc_messages = 'C', reload, and collect a new log", l))
		return
	}

	p.events.Add(line, at, 1)
	has := func(s string) bool { return strings.Contains(message, s) }
	begins := func(s string) bool { return strings.HasPrefix(message, s) }

	switch {
	case begins("checkpoint complete"), begins("restartpoint complete"):
		p.checkpoint(at, message)
	case begins("checkpoint starting"), begins("restartpoint starting"):
		p.starting(at, message)
	case begins("duration: "):
		p.duration(at, message)
	case begins("process ") && has(" acquired ") && has(" after "):
		if d, ok := millis(message, afterMs); ok {
			p.events.Took(lockWait, at, d)
		}
	case begins("temporary file: "):
		if m := tempSize.FindStringSubmatch(message); m != nil {
			if n, err := strconv.ParseFloat(m[1], 64); err == nil {
				p.events.Add(tempBytes, at, n)
			}
		}
	case begins("automatic vacuum"), begins("automatic aggressive vacuum"), begins("automatic analyze"):
		p.vacuum = at
		p.vacuumed(message)
	case has("elapsed: ") && !p.vacuum.IsZero() && continues(text):
		p.vacuumed(message)
	default:
		p.trouble(at, message)
	}
}

// trouble handles failures, crashes and starts.
func (p *parser) trouble(at time.Time, message string) {
	has := func(s string) bool { return strings.Contains(message, s) }
	switch {
	case has("archive command failed"):
		p.events.Add(archiveFailure, at, 1)
	case has("could not fsync"):
		p.events.Add(fsyncFailure, at, 1)
	case has("No space left"):
		p.events.Add(noSpace, at, 1)
	case has("terminating walsender") && has("timeout"), has("terminating walreceiver due to timeout"):
		p.events.Add(replicationTimeout, at, 1)
	case has("crash of another server process"), has("not properly shut down"),
		strings.HasPrefix(message, "database system was interrupted"):
		p.events.Add(crash, at, 1)
	case strings.HasPrefix(message, "starting PostgreSQL "):
		version, _, _ := strings.Cut(strings.TrimPrefix(message, "starting PostgreSQL "), " ")
		p.events.Fact("version", version)
		p.events.Add(start, at, 1)
	}
}

// The figures of a checkpoint. Until 9.0 the last ones are missing.
var (
	written    = regexp.MustCompile(`wrote (\d+) buffers`)
	writeS     = regexp.MustCompile(`\bwrite=([0-9.]+) s`)
	syncS      = regexp.MustCompile(`\bsync=([0-9.]+) s`)
	totalS     = regexp.MustCompile(`\btotal=([0-9.]+) s`)
	syncFiles  = regexp.MustCompile(`\bsync files=(\d+)`)
	longestS   = regexp.MustCompile(`\blongest=([0-9.]+) s`)
	durationMs = regexp.MustCompile(`^duration: ([0-9.]+) ms`)
	afterMs    = regexp.MustCompile(` after ([0-9.]+) ms`)
	tempSize   = regexp.MustCompile(`, size (\d+)`)
	elapsedS   = regexp.MustCompile(`elapsed: ([0-9.]+) s`)
)

func figure(message string, of *regexp.Regexp) (float64, bool) {
	m := of.FindStringSubmatch(message)
	if m == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(m[1], 64)
	return x, err == nil && x >= 0 && x < 1e9
}

func millis(message string, of *regexp.Regexp) (time.Duration, bool) {
	ms, ok := figure(message, of)
	return time.Duration(ms * float64(time.Millisecond)), ok
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// checkpoint handles the end of a checkpoint, whose line has all its figures.
func (p *parser) checkpoint(at time.Time, message string) {
	total, ok := figure(message, totalS)
	if !ok {
		return
	}

	p.events.Took(checkpoint, at, seconds(total))
	for _, x := range []struct {
		series int
		of     *regexp.Regexp
	}{{checkpointWrite, writeS}, {checkpointSync, syncS}, {checkpointFiles, syncFiles},
		{checkpointBuffers, written}} {
		if n, ok := figure(message, x.of); ok {
			p.events.Add(x.series, at, n)
		}
	}
	if longest, ok := figure(message, longestS); ok {
		p.events.Took(fileSync, at, seconds(longest))
	}
}

// starting handles the line about the start of a checkpoint, which gives the reason. Until 9.6 wal was called
// xlog.
func (p *parser) starting(at time.Time, message string) {
	_, flags, _ := strings.Cut(message, ": ")
	for _, flag := range strings.Fields(flags) {
		switch flag {
		case "time":
			p.events.Add(timed, at, 1)
		case "wal", "xlog":
			p.events.Add(byWAL, at, 1)
		}
	}
}

// duration handles the duration of a statement. auto_explain logs the same statement again with its
// plan.
func (p *parser) duration(at time.Time, message string) {
	d, ok := millis(message, durationMs)
	if !ok || d < slowFrom {
		return
	}

	_, rest, _ := strings.Cut(message, " ms")
	kind, statement, _ := strings.Cut(strings.TrimSpace(rest), ": ")
	if strings.HasPrefix(kind, "plan") || strings.HasPrefix(strings.TrimSpace(rest), "plan:") {
		return
	}

	statement = strings.TrimSpace(statement)
	verb := statement
	if i := strings.IndexFunc(statement, func(r rune) bool { return r < 'A' || r > 'z' }); i >= 0 {
		verb = statement[:i]
	}

	series := slowStatement
	switch strings.ToUpper(verb) {
	case "COMMIT", "END":
		series = slowCommit
	case "INSERT", "UPDATE", "DELETE", "MERGE", "COPY":
		series = slowWrite
	}
	p.events.Took(series, at, d)
}

// vacuumed handles the line with the elapsed time of a run of autovacuum.
func (p *parser) vacuumed(message string) {
	if s, ok := figure(message, elapsedS); ok {
		p.events.Took(autovacuum, p.vacuum, seconds(s))
		p.vacuum = time.Time{}
	}
}

// continues reports whether a line of stderr continues the message before it.
func continues(text []byte) bool { return len(text) > 0 && (text[0] == '\t' || text[0] == ' ') }

// messageOf returns a line's message, without its prefix.
func messageOf(text []byte) string {
	if len(text) > 0 && text[0] == '{' {
		type fields struct {
			Message string `json:"message"`
		}
		var x struct {
			fields
			Record fields `json:"record"`
		}
		if json.Unmarshal(text, &x) != nil {
			return ""
		}
		return x.Message + x.Record.Message
	}

	if message, ok := csvMessage(text); ok {
		return message
	}
	if _, message, ok := cutSeverity(text); ok {
		return string(message)
	}

	return strings.TrimSpace(string(text))
}

// csvMessage returns the message of a line of csvlog: the field after the severity and the SQLSTATE.
// It is not ok for other lines.
func csvMessage(text []byte) (message string, ok bool) {
	if !isCSV(text) {
		return "", false
	}
	for _, n := range csvLog {
		i := bytes.Index(text[:min(len(text), prefixMax)], n)
		if i < 0 {
			continue
		}
		if _, rest, found := bytes.Cut(text[i:], []byte(`,"`)); found {
			return unquote(string(rest)), true
		}
	}
	return "", false
}

// isCSV reports whether a line begins with a time and a comma, and has as many fields as csvlog.
func isCSV(text []byte) bool {
	first := bytes.IndexByte(text[:min(len(text), 40)], ',')
	if first < 0 {
		return false
	}
	_, ok := calendar(text[:first])
	return ok && bytes.Count(text[:min(len(text), prefixMax)], []byte(",")) >= 11
}

// unquote returns a field of csvlog up to its closing quote.
func unquote(s string) string {
	var b strings.Builder
	for {
		part, rest, ok := strings.Cut(s, `"`)
		b.WriteString(part)
		if !ok || !strings.HasPrefix(rest, `"`) {
			return b.String()
		}
		b.WriteByte('"')
		s = rest[1:]
	}
}
