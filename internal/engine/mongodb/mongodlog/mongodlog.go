// Package mongodlog reads mongod's log: JSON since 4.4, text before. It reads these events, each as the
// series of package serverlog:
//
//	mongodb_log_slow_write*, mongodb_log_slow_read*
//	                              client operations longer than slowms (100 ms by default): inserts,
//	                              updates, deletes and findAndModify; find, aggregate, count, distinct
//	mongodb_log_disk_read_seconds_total, mongodb_log_cache_wait_seconds_total,
//	mongodb_log_lock_wait_seconds_total, mongodb_log_flow_control_seconds_total,
//	mongodb_log_write_concern_seconds_total
//	                              time that slow operations spent reading from disk (4.2), waiting for
//	                              room in the cache, for WiredTiger's and mongod's locks, for flow
//	                              control and for the write concern, added when each ended
//	mongodb_log_collscan_total    slow operations that scanned a collection
//	mongodb_log_scan*             slow operations that examined far more than they returned
//	mongodb_log_checkpoint_start_total   checkpoints that started (4.4 and later)
//	mongodb_log_long_checkpoint*  checkpoints of over 20 s, which WiredTiger logs with their duration
//	mongodb_log_slow_status*      serverStatus taking over 1 s
//	mongodb_log_flow_control_engaged_total, mongodb_log_election_total, mongodb_log_stepdown_total,
//	mongodb_log_cache_full_total, mongodb_log_index_build_total, mongodb_log_start_total
//	mongodb_log_line_total        lines that may be about one of these
//
// Commands that wait by design (hello, getMore of a change stream) and a server's own operations are
// not counted.
package mongodlog

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
	slowWrite = iota
	slowRead
	diskRead
	cacheWait
	lockWait
	flowWait
	concernWait
	collscan
	scan
	checkpointStart
	longCheckpoint
	slowStatus
	flowControl
	election
	stepdown
	cacheFull
	indexBuild
	start
	line
)

// Format is mongod's log.
var Format = serverlog.Format{
	Kind: "mongod-log", Engine: "mongodb", Product: "mongod",
	Series: []serverlog.Series{
		slowWrite:       {Name: "mongodb_log_slow_write", Timed: true, Always: true},
		slowRead:        {Name: "mongodb_log_slow_read", Timed: true, Always: true},
		diskRead:        {Name: "mongodb_log_disk_read_seconds"},
		cacheWait:       {Name: "mongodb_log_cache_wait_seconds"},
		lockWait:        {Name: "mongodb_log_lock_wait_seconds"},
		flowWait:        {Name: "mongodb_log_flow_control_seconds"},
		concernWait:     {Name: "mongodb_log_write_concern_seconds"},
		collscan:        {Name: "mongodb_log_collscan"},
		scan:            {Name: "mongodb_log_scan", Timed: true},
		checkpointStart: {Name: "mongodb_log_checkpoint_start"},
		longCheckpoint:  {Name: "mongodb_log_long_checkpoint", Timed: true},
		slowStatus:      {Name: "mongodb_log_slow_status", Timed: true},
		flowControl:     {Name: "mongodb_log_flow_control_engaged"},
		election:        {Name: "mongodb_log_election"},
		stepdown:        {Name: "mongodb_log_stepdown"},
		cacheFull:       {Name: "mongodb_log_cache_full"},
		indexBuild:      {Name: "mongodb_log_index_build"},
		start:           {Name: "mongodb_log_start"},
		line:            {Name: "mongodb_log_line", Always: true},
	},
	Is: is, Stamp: stamp, Keep: keep,
	New: func(e *serverlog.Events) serverlog.Parser { return &parser{events: e} },
}

// words are in every line about an event. They contain no quotes, which docker's JSON escapes.
var words = serverlog.WordsOf("Slow query", "saving checkpoint snapshot", " seconds and wrote: ",
	"Checkpoint took", "serverStatus was very slow", "Flow control is engaged", "assuming primary role",
	"tepping down from primary", "relinquishing primary", "WT_CACHE_FULL", "ndex build: done building",
	"build index done", "MongoDB starting", "Build Info", "db version v", "protocol:op_", `ms\n"`)

func keep(raw []byte) bool {
	if words.In(raw) {
		return true
	}
	// A slow operation's line of text ends with its duration.
	return bytes.HasSuffix(raw, []byte("ms")) && len(raw) > 3 && raw[len(raw)-3] >= '0' && raw[len(raw)-3] <= '9'
}

var (
	jsonStart  = []byte(`{"t":{"$date":"`)
	components = regexp.MustCompile(`^[IWEFD]\d? +(COMMAND|WRITE|QUERY|STORAGE|NETWORK|REPL|ACCESS|CONTROL|INDEX|FTDC|RECOVERY|ELECTION|SHARDING|CONNPOOL|ASIO|-|REPL_HB|INITSYNC|JOURNAL|TXN|TRACKING|ROLLBACK|HEARTBEATS|GEO|BRIDGE) +\[`)
)

// is recognises mongod's JSON by its first fields, and its text by the time, the severity and the
// component.
func is(_, text []byte) bool {
	if bytes.HasPrefix(text, jsonStart) {
		return bytes.Contains(text[:min(len(text), 200)], []byte(`"ctx":`))
	}
	_, rest, ok := cutTime(text)
	return ok && components.Match(rest)
}

// cutTime separates the time of a line of text: "2019-05-03T10:37:35.000+0200 I STORAGE ...".
func cutTime(text []byte) (at lineprefix.Time, rest []byte, ok bool) {
	end := bytes.IndexByte(text[:min(len(text), 40)], ' ')
	if end < len("2006-01-02T15:04:05") || text[10] != 'T' {
		return at, nil, false
	}
	at, ok = lineprefix.Line(text[:end])
	return at, text[end+1:], ok
}

func stamp(text []byte) (at lineprefix.Time, ok bool) {
	if rest, found := bytes.CutPrefix(text, jsonStart); found {
		end := bytes.IndexByte(rest[:min(len(rest), 40)], '"')
		if end < 0 {
			return at, false
		}
		return lineprefix.Line(rest[:end])
	}
	at, _, ok = cutTime(text)
	return at, ok
}

type parser struct {
	events *serverlog.Events
}

// End implements serverlog.Parser.
func (p *parser) End(time.Time) {}

// Line implements serverlog.Parser.
func (p *parser) Line(at time.Time, text []byte) {
	p.events.Add(line, at, 1)
	if bytes.HasPrefix(text, jsonStart) {
		p.json(at, text)
		return
	}
	if _, rest, ok := cutTime(text); ok {
		p.text(at, string(rest))
	}
}

// An entry is a line of JSON.
type entry struct {
	Msg  string          `json:"msg"`
	Attr json.RawMessage `json:"attr"`
}

func (p *parser) json(at time.Time, text []byte) {
	var x entry
	if json.Unmarshal(text, &x) != nil {
		return
	}

	switch {
	case x.Msg == "Slow query":
		p.slow(at, x.Attr)
	case strings.Contains(x.Msg, "serverStatus was very slow"):
		var a struct {
			TimeStats map[string]json.Number `json:"timeStats"`
		}
		if json.Unmarshal(x.Attr, &a) == nil {
			if ms, err := a.TimeStats["at end"].Float64(); err == nil {
				p.took(slowStatus, at, ms)
			}
		}
	case x.Msg == "Build Info":
		var a struct {
			BuildInfo struct{ Version string } `json:"buildInfo"`
		}
		if json.Unmarshal(x.Attr, &a) == nil {
			p.started(at, a.BuildInfo.Version)
		}
	default:
		// WiredTiger's messages are text, since 5.3 within JSON.
		p.message(at, x.Msg+" "+string(x.Attr))
	}
}

func (p *parser) text(at time.Time, rest string) {
	switch {
	case strings.Contains(rest, "serverStatus was very slow"):
		if ms, ok := number(rest, atEnd); ok {
			p.took(slowStatus, at, ms)
		}
	case strings.Contains(rest, "db version v"):
		_, version, _ := strings.Cut(rest, "db version v")
		p.started(at, strings.TrimSpace(version))
	default:
		if !p.slowText(at, rest) {
			p.message(at, rest)
		}
	}
}

func (p *parser) started(at time.Time, version string) {
	p.events.Fact("version", version)
	p.events.Add(start, at, 1)
}

func (p *parser) took(series int, at time.Time, ms float64) {
	if ms >= 0 && ms < 1e12 {
		p.events.Took(series, at, time.Duration(ms*float64(time.Millisecond)))
	}
}

var (
	atEnd     = regexp.MustCompile(`at end: (\d+)`)
	ranFor    = regexp.MustCompile(`Checkpoint ran for (\d+) seconds`)
	tookS     = regexp.MustCompile(`Checkpoint took (\d+) seconds`)
	endsWith  = regexp.MustCompile(` (\d+)ms$`)
	command   = regexp.MustCompile(`^[IWEFD]\d? +(COMMAND|WRITE|QUERY) +\[conn\d+\] (\w+) (\S+)`)
	ofCommand = regexp.MustCompile(` command: (\w+)`)
	reading   = regexp.MustCompile(`timeReadingMicros: (\d+)`)
	cacheText = regexp.MustCompile(`timeWaitingMicros: \{[^}]*cache: (\d+)`)
	scanned   = regexp.MustCompile(`(?:keys|docs)Examined:(\d+)`)
	gave      = regexp.MustCompile(`(?:nreturned|nMatched|nModified|ndeleted):(\d+)`)
	flowText  = regexp.MustCompile(`flowControl:\{[^}]*timeAcquiringMicros: (\d+)`)
)

func number(text string, of *regexp.Regexp) (float64, bool) {
	m := of.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(m[1], 64)
	return x, err == nil
}

// message handles messages that are the same in JSON and in text.
func (p *parser) message(at time.Time, text string) {
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("saving checkpoint snapshot"):
		p.events.Add(checkpointStart, at, 1)
	case has(" seconds and wrote: "), has("Checkpoint took"):
		// While it runs, WiredTiger logs its progress too.
		for _, re := range []*regexp.Regexp{ranFor, tookS} {
			if s, ok := number(text, re); ok {
				p.took(longCheckpoint, at, s*1000)
			}
		}
	case has("Flow control is engaged"):
		p.events.Add(flowControl, at, 1)
	case has("assuming primary role"):
		p.events.Add(election, at, 1)
	case has("tepping down from primary"), has("relinquishing primary"):
		p.events.Add(stepdown, at, 1)
	case has("WT_CACHE_FULL"):
		p.events.Add(cacheFull, at, 1)
	case has("ndex build: done building"), has("build index done"):
		p.events.Add(indexBuild, at, 1)
	}
}
