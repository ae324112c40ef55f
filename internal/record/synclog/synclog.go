// Package synclog reads what the logs of two programs report about slow syncs: Redis (and Valkey), and
// ZooKeeper (also within Kafka). Other lines of these logs are not read.
package synclog

import (
	"bytes"
	"regexp"
	"strconv"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/serverlog"
)

// Formats are the logs of these programs.
func Formats() []*serverlog.Format { return []*serverlog.Format{&redis, &zookeeper} }

// The kinds of events in Redis' log.
const (
	redisDelayed = iota
	redisBackground
)

// redisDelayedFor is how long a sync has been running and a write has been waiting for it when Redis logs
// it (aof.c, flushAppendOnlyFile, with appendfsync everysec).
const redisDelayedFor = 2 * time.Second

var redis = serverlog.Format{
	Kind: "redis-log", Product: "Redis",
	Series: []serverlog.Series{
		redisDelayed:    {Name: "redis_log_delayed_write", Timed: true, Always: true},
		redisBackground: {Name: "redis_log_background_write", Timed: true},
	},
	Is: func(_, text []byte) bool { return redisLine.Match(head(text)) },
	Stamp: func(text []byte) (lineprefix.Time, bool) {
		if m := redisLine.FindSubmatch(head(text)); m != nil {
			return redisTime(m)
		}
		return lineprefix.Time{}, false
	},
	Keep: serverlog.WordsOf("AOF fsync is taking too long", "ackground ").In,
	New:  func(e *serverlog.Events) serverlog.Parser { return &redisParser{events: e} },
}

// redisLine matches the beginning of a line: "[2314] 01 Mar 05:50:23 * " before Redis 3.0, and
// "2314:M 01 Mar 2024 05:50:23.123 * " now (server.c, serverLogRaw). The year came with 5.0.
var redisLine = regexp.MustCompile(`^(?:\[\d+\]|\d+:[XCSM]) (\d\d) ([A-Z][a-z]{2}) (?:(\d{4}) )?(\d\d:\d\d:\d\d(?:\.\d+)?) [.*#-] `)

// headMax is longer than the beginning of a line.
const headMax = 160

func head(text []byte) []byte { return text[:min(len(text), headMax)] }

func redisTime(m [][]byte) (at lineprefix.Time, ok bool) {
	year := "2000" // a leap year: only its day and month are used
	if len(m[3]) > 0 {
		year = string(m[3])
	}

	t, err := time.Parse("02 Jan 2006 15:04:05", string(m[1])+" "+string(m[2])+" "+year+" "+string(m[4]))
	if err != nil {
		return at, false
	}

	at = lineprefix.Of(t)
	if len(m[3]) == 0 {
		at.Year = 0
	}
	return at, true
}

// A redisParser reads the lines of Redis. Only one background process runs at a time.
type redisParser struct {
	events *serverlog.Events
	since  time.Time // when the background process started; zero if none runs
}

// Line implements serverlog.Parser.
func (p *redisParser) Line(at time.Time, text []byte) {
	has := func(s string) bool { return bytes.Contains(text, []byte(s)) }
	switch {
	case has("AOF fsync is taking too long"):
		p.events.Took(redisDelayed, at, redisDelayedFor)
	case has("Background saving started by pid"), has("Background append only file rewriting started by pid"):
		p.since = at
	case has("Background saving terminated"), has("Background AOF rewrite terminated"),
		has("Background saving error"):
		p.End(at)
	}
}

// End implements serverlog.Parser.
func (p *redisParser) End(at time.Time) {
	if !p.since.IsZero() && !at.Before(p.since) {
		p.events.Took(redisBackground, at, at.Sub(p.since))
	}
	p.since = time.Time{}
}

// zookeeperSync is the only kind of event in ZooKeeper's log.
const zookeeperSync = 0

var zookeeper = serverlog.Format{
	Kind: "zookeeper-log", Product: "ZooKeeper",
	Series: []serverlog.Series{zookeeperSync: {Name: "zookeeper_log_slow_fsync", Timed: true, Always: true}},
	Is:     func(_, text []byte) bool { return zookeeperWords.In(text) },
	Stamp: func(text []byte) (lineprefix.Time, bool) {
		// Kafka's pattern puts the time in brackets.
		text = bytes.TrimPrefix(text, []byte("["))
		const date = len("2006-01-02 15:04:05")
		if len(text) < date {
			return lineprefix.Time{}, false
		}
		end := date
		for end < len(text) && (text[end] == ',' || text[end] == '.' || text[end] >= '0' && text[end] <= '9') {
			end++
		}
		return lineprefix.Line(bytes.ReplaceAll(text[:end], []byte(","), []byte(".")))
	},
	Keep: serverlog.WordsOf("fsync-ing the write ahead log").In,
	New:  func(e *serverlog.Events) serverlog.Parser { return (*zookeeperParser)(e) },
}

// zookeeperWords are the names of classes and threads in its lines.
var zookeeperWords = serverlog.WordsOf("org.apache.zookeeper.", "fsync-ing the write ahead log",
	"FileTxnLog@", "[myid:", "QuorumPeer@", "NIOServerCnxn@")

// zookeeperTook matches FileTxnLog's warning, which comes from fsync.warningthresholdms on (1 s by default).
// Some versions have the size of the file before "in".
var zookeeperTook = regexp.MustCompile(`fsync-ing the write ahead log\b.{0,40}? in .{1,80}? took (\d{1,9})ms`)

type zookeeperParser serverlog.Events

// Line implements serverlog.Parser.
func (p *zookeeperParser) Line(at time.Time, text []byte) {
	e := (*serverlog.Events)(p)
	m := zookeeperTook.FindSubmatch(text)
	if m == nil {
		e.Unread("a slow sync without its duration")
		return
	}
	ms, err := strconv.Atoi(string(m[1]))
	if err != nil {
		e.Unread("a slow sync without its duration")
		return
	}
	e.Took(zookeeperSync, at, time.Duration(ms)*time.Millisecond)
}

// End implements serverlog.Parser.
func (*zookeeperParser) End(time.Time) {}
