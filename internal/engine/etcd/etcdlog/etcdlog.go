// Package etcdlog reads etcd's log: JSON since 3.4, text before. It reads these events, each as the
// series of package serverlog:
//
//	etcd_log_slow_fdatasync*     WAL fdatasyncs of over 1 s (wal.go, warnSyncDuration)
//	etcd_log_slow_write*         requests that took over 100 ms to apply (--warning-apply-duration)
//	etcd_log_slow_range*         read-only requests that took over 100 ms
//	etcd_log_late_heartbeat*     heartbeats the leader sent late, by how much
//	etcd_log_compaction*         compactions
//	etcd_log_defragmentation*    defragmentations
//	etcd_log_snapshot_total      databases sent to another member
//	etcd_log_leader_change_total a member became known as leader, except the first after a start
//	etcd_log_leader_lost_total   the member no longer had a leader
//	etcd_log_election_total      elections that this member started
//	etcd_log_no_space_total      lines about the alarm NOSPACE
//	etcd_log_start_total         starts of the process
//
// The series of slow calls have only those over a threshold. With --log-level=warn the lines about
// raft, compactions and defragmentations are missing, so these series exist only if the log has one.
package etcdlog

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/serverlog"
)

// The indexes of the series.
const (
	slowSync = iota
	slowWrite
	slowRange
	lateHeartbeat
	compaction
	defragmentation
	snapshotSent
	leaderChange
	leaderLost
	election
	noSpace
	start
)

// Format is etcd's log.
var Format = serverlog.Format{
	Kind: "etcd-log", Engine: "etcd", Product: "etcd",
	Series: []serverlog.Series{
		slowSync:        {Name: "etcd_log_slow_fdatasync", Timed: true, Always: true},
		slowWrite:       {Name: "etcd_log_slow_write", Timed: true, Always: true},
		slowRange:       {Name: "etcd_log_slow_range", Timed: true, Always: true},
		lateHeartbeat:   {Name: "etcd_log_late_heartbeat", Timed: true, Always: true},
		compaction:      {Name: "etcd_log_compaction", Timed: true},
		defragmentation: {Name: "etcd_log_defragmentation", Timed: true},
		snapshotSent:    {Name: "etcd_log_snapshot"},
		leaderChange:    {Name: "etcd_log_leader_change"},
		leaderLost:      {Name: "etcd_log_leader_lost"},
		election:        {Name: "etcd_log_election"},
		noSpace:         {Name: "etcd_log_no_space"},
		start:           {Name: "etcd_log_start"},
	},
	Is: is, Stamp: stamp, Keep: words.In,
	New: func(e *serverlog.Events) serverlog.Parser { return &parser{events: e} },
}

// Parts of etcd's source tree that write to its log: in JSON as the caller, in text as the package.
var (
	callers = serverlog.WordsOf(`"caller":"etcdserver/`, `"caller":"wal/`, `"caller":"etcdmain/`,
		`"caller":"embed/`, `"caller":"mvcc/`, `"caller":"rafthttp/`, `"caller":"backend/`,
		`"caller":"v3rpc/`, `"caller":"membership/`, `"caller":"traceutil/`, `"caller":"raft/`,
		`"caller":"snap/`, `"caller":"api/`, `"caller":"auth/`, `"caller":"fileutil/`,
		`"caller":"v3compactor/`, `"caller":"txn/`, `"caller":"etcdhttp/`)
	packages = serverlog.WordsOf("etcdserver", "wal:", "etcdmain:", "embed:", "mvcc:", "rafthttp:",
		"raft:", "snap:", "auth:", "pkg/", "compactor:", "store.index", "membership:")
	unit = serverlog.WordsOf(" etcd[", " etcd-wrapper[", `"SYSLOG_IDENTIFIER":"etcd"`,
		`"SYSLOG_IDENTIFIER" : "etcd"`)
	// words are in every line about an event. They contain no quotes, which JSON escapes.
	words = serverlog.WordsOf("slow fdatasync", "sync duration of", "took too long",
		"send out heartbeat on time", "elected leader", "lost leader", "changed leader",
		"starting a new election", "finished scheduled compaction", "defragment", "NOSPACE", "space exceeded",
		"sent database snapshot to writer", "wrote database snapshot out", "etcd-version", "etcd Version")
)

// is recognises a line by the part of etcd that wrote it. Other Go programs log in the same forms.
func is(raw, text []byte) bool {
	switch {
	case len(text) == 0:
		return false
	case text[0] == '{':
		return callers.In(text)
	case len(text) < len(raw) && unit.In(raw):
		return true
	}

	// 2026-01-05 10:00:00.123456 W | etcdserver: MESSAGE
	at, message, ok := cutText(text)
	if !ok || at.Month == 0 {
		return false
	}
	for _, p := range packages {
		if bytes.HasPrefix(message, p) {
			return true
		}
	}
	return bytes.Contains(message, []byte("wal.go:")) || bytes.Contains(message, []byte("server.go:"))
}

// cutText separates the time and the level of a line of text from the rest.
func cutText(text []byte) (at lineprefix.Time, message []byte, ok bool) {
	const date = len("2006-01-02 15:04:05")
	if len(text) <= date || text[date-3] != ':' {
		return at, nil, false
	}

	end := bytes.IndexByte(text[date:], ' ')
	if end < 0 {
		return at, nil, false
	}

	// Until 2.0 the date had slashes.
	stamp := bytes.ReplaceAll(text[:date+end], []byte("/"), []byte("-"))
	if at, ok = lineprefix.Line(stamp); !ok {
		return at, nil, false
	}

	message = text[date+end+1:]
	if len(message) > 4 && message[1] == ' ' && message[2] == '|' {
		message = message[4:]
	}

	return at, message, true
}

// stamp returns a line's own time. JSON has it as ISO 8601 or as seconds since 1970.
func stamp(text []byte) (lineprefix.Time, bool) {
	if len(text) == 0 || text[0] != '{' {
		at, _, ok := cutText(text)
		return at, ok
	}

	for _, key := range [][]byte{[]byte(`"ts":`), []byte(`"timestamp":`)} {
		_, rest, found := bytes.Cut(text[:min(len(text), 256)], key)
		if !found {
			continue
		}
		end := bytes.IndexAny(bytes.TrimPrefix(rest, []byte(`"`)), `",}`)
		if end < 0 {
			return lineprefix.Time{}, false
		}
		return lineprefix.Line(bytes.TrimPrefix(rest, []byte(`"`))[:end])
	}

	return lineprefix.Time{}, false
}

type parser struct {
	events *serverlog.Events
	// leaderless is true after a start until a leader is known; that is not a leader change.
	leaderless bool
	defragFrom time.Time // when a defragmentation started; zero if none runs
}

// An entry is a parsed line. Durations are still text.
type entry struct {
	message                string
	took, exceeded, prefix string
	alarm, version         string
}

// Line implements serverlog.Parser.
func (p *parser) Line(at time.Time, text []byte) {
	fields := entry{}
	if text[0] == '{' {
		fields = readJSON(text)
	} else {
		fields = readText(text)
	}

	took, hasTook := duration(fields.took)
	has := func(s string) bool { return strings.Contains(fields.message, s) }
	events := p.events

	switch {
	// The second message is that of the logger before zap (3.3 and older).
	case has("slow fdatasync") || has("sync duration of"):
		if hasTook {
			events.Took(slowSync, at, took)
		}
	// The same message serves writes and reads; only its prefix distinguishes them.
	case has("took too long") && hasTook:
		kind := slowWrite
		if strings.HasPrefix(fields.prefix, "read-only") || has("read-only") {
			kind = slowRange
		}
		events.Took(kind, at, took)
	case has("send out heartbeat on time"):
		if late, ok := duration(fields.exceeded); ok {
			events.Took(lateHeartbeat, at, late)
		}
	case has("finished scheduled compaction") && hasTook:
		events.Took(compaction, at, took)
	case has("defragment"):
		p.defragment(at, fields, took, hasTook)
	case has("sent database snapshot to writer") || has("wrote database snapshot out"):
		events.Add(snapshotSent, at, 1)
	case fields.alarm == "NOSPACE" || has("NOSPACE") || has("space exceeded"):
		events.Add(noSpace, at, 1)
	default:
		p.raft(at, fields)
	}
}

// raft handles elections and starts.
func (p *parser) raft(at time.Time, x entry) {
	has := func(s string) bool { return strings.Contains(x.message, s) }
	switch {
	case has("elected leader") || has("changed leader"):
		if !p.leaderless {
			p.events.Add(leaderChange, at, 1)
		}
		p.leaderless = false
	case has("lost leader"):
		p.events.Add(leaderLost, at, 1)
	case has("starting a new election"):
		// A new process starts one too.
		if !p.leaderless {
			p.events.Add(election, at, 1)
		}
	case x.version != "":
		p.events.Fact("version", x.version)
		// Several lines of a start have the version.
		if !p.leaderless {
			p.events.Add(start, at, 1)
		}
		p.leaderless = true
	}
}

// defragment handles the beginning and the end of a defragmentation. 3.4 and later log how long it
// took; before, only the times of both lines show it.
func (p *parser) defragment(at time.Time, x entry, took time.Duration, hasTook bool) {
	switch {
	case hasTook:
		p.events.Took(defragmentation, at, took)
		p.defragFrom = time.Time{}
	case strings.HasPrefix(x.message, "starting"):
		p.defragFrom = at
	case strings.HasPrefix(x.message, "finished") && !p.defragFrom.IsZero():
		p.events.Took(defragmentation, at, at.Sub(p.defragFrom))
		p.defragFrom = time.Time{}
	}
}

// End implements serverlog.Parser. A defragmentation that still runs has taken this long at least.
func (p *parser) End(at time.Time) {
	if !p.defragFrom.IsZero() && at.After(p.defragFrom) {
		p.events.Took(defragmentation, at, at.Sub(p.defragFrom))
	}
}

// readJSON reads a line of zap. A line that was cut short has no fields.
func readJSON(text []byte) entry {
	var x struct {
		Msg, Message, Prefix, Alarm string
		Took                        json.RawMessage
		Exceeded                    json.RawMessage `json:"exceeded-duration"`
		Version                     string          `json:"etcd-version"`
	}
	if json.Unmarshal(text, &x) != nil {
		return entry{}
	}

	bare := func(raw json.RawMessage) string {
		s, err := strconv.Unquote(string(raw))
		if err != nil && len(raw) > 0 {
			return string(raw) + "s" // a number of seconds
		}
		return s
	}

	return entry{message: x.Msg + x.Message, took: bare(x.Took), exceeded: bare(x.Exceeded), prefix: x.Prefix,
		alarm: x.Alarm, version: x.Version}
}

// Durations in lines of text, as Go prints them.
var (
	syncTook    = regexp.MustCompile(`sync duration of ([0-9.a-zµ]+)`)
	requestTook = regexp.MustCompile(`took too long [(\[]([0-9.a-zµ]+)`)
	lateBy      = regexp.MustCompile(`timeout for ([0-9.a-zµ]+)`)
	otherTook   = regexp.MustCompile(`\(took ([0-9.a-zµ]+)\)`)
	versionText = regexp.MustCompile(`etcd Version: ([0-9][0-9A-Za-z.+-]*)`)
)

// readText reads a line of capnslog. journald's lines have neither its time nor its package.
func readText(text []byte) entry {
	message := string(text)
	if _, rest, ok := cutText(text); ok {
		message = string(rest)
	}
	if pkg, rest, ok := strings.Cut(message, ": "); ok && !strings.ContainsAny(pkg, ` "`) {
		message = rest
	}

	first := func(re *regexp.Regexp) string {
		if m := re.FindStringSubmatch(message); m != nil {
			return m[1]
		}
		return ""
	}

	x := entry{message: message, exceeded: first(lateBy), version: first(versionText)}
	for _, re := range []*regexp.Regexp{syncTook, requestTook, otherTook} {
		if x.took == "" {
			x.took = first(re)
		}
	}

	return x
}

// duration parses what Go prints.
func duration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}
