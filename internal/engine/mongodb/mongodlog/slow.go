package mongodlog

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// verbs are the commands of clients that count, and whether they write. Others wait by design or
// belong to the server itself.
var verbs = map[string]bool{"find": false, "aggregate": false, "count": false, "distinct": false,
	"query": false, "mapreduce": false,
	"insert": true, "update": true, "delete": true, "remove": true, "findandmodify": true, "bulkwrite": true,
	"committransaction": true}

// slow handles the attributes of a slow operation.
func (p *parser) slow(at time.Time, attr json.RawMessage) {
	var operation struct {
		Type, Ns, PlanSummary string
		DurationMillis        float64
		Command               json.RawMessage
		Storage               struct {
			Data              struct{ TimeReadingMicros float64 }
			TimeWaitingMicros map[string]float64
		}
		Locks       map[string]struct{ TimeAcquiringMicros map[string]float64 }
		FlowControl struct{ TimeAcquiringMicros float64 }
		Concern     float64 `json:"waitForWriteConcernDurationMillis"`

		KeysExamined, DocsExamined               float64
		NReturned, NMatched, NModified, NDeleted float64
	}

	// mongod's fields begin with small letters, and encoding/json ignores case.
	if json.Unmarshal(attr, &operation) != nil {
		return
	}

	verb := operation.Type
	if verb == "command" {
		verb = firstKey(operation.Command)
	}
	if !p.operation(at, verb, operation.Ns, operation.Type == "command", operation.DurationMillis) {
		return
	}

	locks := 0.0
	for _, l := range operation.Locks {
		for _, us := range l.TimeAcquiringMicros {
			locks += us
		}
	}
	for kind, us := range operation.Storage.TimeWaitingMicros {
		if kind != "cache" {
			locks += us // schemaLock, handleLock
		}
	}

	p.waited(at, operation.Storage.Data.TimeReadingMicros, operation.Storage.TimeWaitingMicros["cache"], locks,
		operation.FlowControl.TimeAcquiringMicros, 1000*operation.Concern)
	whole := strings.HasPrefix(operation.PlanSummary, "COLLSCAN")
	if whole {
		p.events.Add(collscan, at, 1)
	}
	if scans(whole, max(operation.KeysExamined, operation.DocsExamined),
		max(operation.NReturned, operation.NMatched, operation.NModified, operation.NDeleted)) {
		p.took(scan, at, operation.DurationMillis)
	}
}

// An operation scans if it examines many documents or keys for each that it returns or changes. A scan
// of a small collection is slow for another reason.
const (
	scanLeast      = 10_000.0
	scanWholeLeast = 1_000.0
	scanPerResult  = 100.0
)

func scans(whole bool, examined, results float64) bool {
	least := scanLeast
	if whole {
		least = scanWholeLeast
	}
	return examined >= least && examined >= scanPerResult*results
}

// slowText handles a slow operation in a line of text; it returns false if the line is not one.
func (p *parser) slowText(at time.Time, rest string) bool {
	ms, ok := number(rest, endsWith)
	m := command.FindStringSubmatch(rest)
	if !ok || m == nil {
		return false
	}

	verb := m[2]
	if verb == "command" {
		if c := ofCommand.FindStringSubmatch(rest); c != nil {
			verb = c[1]
		}
	}
	if !p.operation(at, verb, m[3], m[2] == "command", ms) {
		return true
	}

	read, _ := number(rest, reading)
	cache, _ := number(rest, cacheText)
	flow, _ := number(rest, flowText)
	p.waited(at, read, cache, 0, flow, 0)
	whole := strings.Contains(rest, "planSummary: COLLSCAN")
	if whole {
		p.events.Add(collscan, at, 1)
	}
	if scans(whole, most(rest, scanned), most(rest, gave)) {
		p.took(scan, at, ms)
	}

	return true
}

// most is the largest number that a pattern finds in a line.
func most(text string, of *regexp.Regexp) (out float64) {
	for _, m := range of.FindAllStringSubmatch(text, -1) {
		if x, err := strconv.ParseFloat(m[1], 64); err == nil {
			out = max(out, x)
		}
	}
	return out
}

// operation adds a slow operation; false if it does not count. A command of several updates or
// deletes is logged in addition to each of them.
func (p *parser) operation(at time.Time, verb, ns string, asCommand bool, ms float64) bool {
	writes, known := verbs[strings.ToLower(verb)]
	several := asCommand && strings.HasSuffix(ns, ".$cmd") && (verb == "update" || verb == "delete")
	internal := strings.HasPrefix(ns, "local.") || strings.HasPrefix(ns, "config.") ||
		strings.HasPrefix(ns, "admin.") && !strings.EqualFold(verb, "commitTransaction")
	if !known || several || internal {
		return false
	}

	if writes {
		p.took(slowWrite, at, ms)
	} else {
		p.took(slowRead, at, ms)
	}
	return true
}

// waited adds what an operation waited for, in microseconds.
func (p *parser) waited(at time.Time, read, cache, locks, flow, concern float64) {
	for series, us := range map[int]float64{diskRead: read, cacheWait: cache, lockWait: locks, flowWait: flow,
		concernWait: concern} {
		if us > 0 && us < 1e15 {
			p.events.Add(series, at, us/1e6)
		}
	}
}

// firstKey returns the first key of a document: the name of its command.
func firstKey(doc json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(doc))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	t, err := d.Token()
	if err != nil {
		return ""
	}
	key, _ := t.(string)
	return key
}
