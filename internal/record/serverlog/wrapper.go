package serverlog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"plimsoll/internal/record/lineprefix"
)

// A wrapper is the format in which a pipeline wraps each line.
type wrapper struct {
	kind wrapping
	form lineprefix.Form // of prefixed
}

type wrapping uint8

const (
	bare     wrapping = iota
	docker            // {"log":"LINE\n","stream":"stderr","time":"2026-01-05T10:00:00.1Z"}
	journal           // journalctl -o json
	cri               // 2026-01-05T10:00:00.1Z stderr F LINE
	prefixed          // a time, and perhaps a host and a process
)

// wrappers are those that the beginning of a file may have, the most certain first.
func wrappers(head []byte) []wrapper {
	out := []wrapper{{kind: bare}}
	switch first := bytes.TrimLeft(head, " \r\n"); {
	case bytes.HasPrefix(first, []byte(`{"log":`)):
		return append(out, wrapper{kind: docker})
	case bytes.HasPrefix(first, []byte("{")) && bytes.Contains(head, journalTime):
		return append(out, wrapper{kind: journal})
	}

	out = append(out, wrapper{kind: cri})
	for _, f := range lineprefix.Forms() {
		out = append(out, wrapper{kind: prefixed, form: f})
	}
	return out
}

// A piece is how much of a line a wrapper holds.
type piece uint8

const (
	complete piece = iota
	partial        // the line continues in the next one
)

// cut separates a wrapper from the line in it.
func (w *wrapper) cut(line []byte) (text []byte, p piece, ok bool) {
	line = cutPod(line)
	switch w.kind {
	case docker:
		var x struct{ Log, Time string }
		if json.Unmarshal(line, &x) != nil {
			return nil, complete, false
		}
		if rest, whole := bytes.CutSuffix([]byte(x.Log), []byte("\n")); whole {
			return rest, complete, true
		}
		// Docker splits lines of more than 16 KiB.
		return []byte(x.Log), partial, true
	case journal:
		text, ok = cutJournal(line)
		return text, complete, ok
	case cri:
		_, text, p, ok = cutCRI(line)
		return text, p, ok
	case prefixed:
		_, text, ok = w.form.Cut(line)
		return text, complete, ok
	}

	return line, complete, true
}

// when returns only the time in a wrapper, without decoding the rest.
func (w *wrapper) when(line []byte) (at lineprefix.Time) {
	line = cutPod(line)
	switch w.kind {
	case docker:
		if i := bytes.LastIndex(line, dockerTime); i >= 0 {
			value, _, _ := bytes.Cut(line[i+len(dockerTime):], []byte(`"`))
			return parseTime(string(value))
		}
	case journal:
		return journalStamp(line)
	case cri:
		at, _, _, _ = cutCRI(line)
	case prefixed:
		at, _, _ = w.form.Cut(line)
	}
	return at
}

// split reports whether a line continues in the next one. It is much cheaper than cut.
func (w *wrapper) split(line []byte) bool {
	switch w.kind {
	case docker:
		return !bytes.Contains(line, dockerEnd)
	case cri:
		return bytes.Contains(line[:min(len(line), criTagsMax)], criPartial)
	}
	return false
}

// criTagsMax is longer than a time, a stream and the tag.
const criTagsMax = 64

var (
	dockerEnd   = []byte(`\n"`)
	criPartial  = []byte(" P ")
	dockerTime  = []byte(`"time":"`)
	journalTime = []byte(`"__REALTIME_TIMESTAMP"`)
	podPrefix   = []byte("[pod/")
)

// cutPod removes what kubectl logs --prefix and docker compose logs add: "[pod/a-0/a] ", "a-1  | ".
func cutPod(line []byte) []byte {
	if bytes.HasPrefix(line, podPrefix) {
		if _, rest, ok := bytes.Cut(line, []byte("] ")); ok {
			return rest
		}
		return line
	}

	name, rest, ok := bytes.Cut(line[:min(len(line), serviceMax)], []byte("| "))
	if !ok || len(bytes.Fields(name)) != 1 || name[len(name)-1] != ' ' {
		return line
	}
	return line[len(line[:min(len(line), serviceMax)])-len(rest):]
}

// serviceMax is longer than the name of a service of docker compose, with its padding.
const serviceMax = 64

// cutCRI reads a line of a container's log file, as containerd and CRI-O write it
// (kubernetes/design-proposals, CRI log format): time, stream, tags, line.
func cutCRI(line []byte) (at lineprefix.Time, text []byte, p piece, ok bool) {
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return at, nil, complete, false
	}

	for _, stream := range []string{"stderr ", "stdout "} {
		tagged, found := bytes.CutPrefix(rest, []byte(stream))
		if !found {
			continue
		}

		tags, text, _ := bytes.Cut(tagged, []byte(" "))
		if len(tags) == 0 || tags[0] != 'F' && tags[0] != 'P' {
			return at, nil, complete, false
		}
		if at = parseTime(string(stamp)); tags[0] == 'P' {
			p = partial
		}
		return at, text, p, at.Month != 0
	}

	return at, nil, complete, false
}

// cutJournal reads an entry of journalctl -o json. A message with unprintable bytes is an array of
// numbers.
func cutJournal(line []byte) (text []byte, ok bool) {
	var x struct {
		Message json.RawMessage `json:"MESSAGE"`
	}
	if json.Unmarshal(line, &x) != nil || len(x.Message) == 0 {
		return nil, false
	}

	if x.Message[0] == '[' {
		var numbers []int
		if json.Unmarshal(x.Message, &numbers) != nil {
			return nil, false
		}
		for _, n := range numbers {
			text = append(text, byte(n))
		}
		return text, true
	}

	var s string
	if json.Unmarshal(x.Message, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

// journalStamp reads an entry's time, in microseconds since 1970.
func journalStamp(line []byte) (at lineprefix.Time) {
	i := bytes.Index(line, journalTime)
	if i < 0 {
		return at
	}
	rest := bytes.TrimLeft(line[i+len(journalTime):], `: "`)
	end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end <= 0 {
		return at
	}
	us, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	if err != nil {
		return at
	}
	return timeOf(time.UnixMicro(us))
}

// parseTime reads a time in RFC 3339. Without one, the month is 0.
func parseTime(s string) (at lineprefix.Time) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return at
	}
	return timeOf(t)
}

// timeOf is a time whose zone is known.
func timeOf(t time.Time) lineprefix.Time {
	at := lineprefix.Of(t.UTC())
	at.HasZone = true
	return at
}
