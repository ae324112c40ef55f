// Package perfetto writes slow calls in the JSON trace event format, which Perfetto's viewer
// (ui.perfetto.dev) and chrome://tracing open. Each traced thread is a track with its slow calls,
// and below each call its stages. Each disk is a process with one track for each owner of requests.
package perfetto

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// requestsMax bounds the number of requests written.
const requestsMax = 200_000

// An event of the format. Times are in microseconds.
type event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"`
	ID    string         `json:"id,omitempty"`
	PID   uint32         `json:"pid"`
	TID   uint32         `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// diskBase offsets the process IDs of disks so that they never collide with real processes.
const diskBase = 1 << 30

// Write writes calls and the requests that were on the disks at the time.
func Write(w io.Writer, h *events.Header, calls []chain.Chain, requests []events.Request,
	owner func(*events.Request) string) error {
	p := &page{h: h, tracks: map[string]uint32{}}
	for i := range calls {
		p.call(&calls[i])
	}
	slices.SortFunc(requests, func(a, b events.Request) int { return cmp.Compare(a.First, b.First) })
	for i := range requests[:min(len(requests), requestsMax)] {
		p.request(&requests[i], i, owner(&requests[i]))
	}
	return json.NewEncoder(w).Encode(map[string]any{"displayTimeUnit": "ms", "traceEvents": p.out,
		"otherData": map[string]any{"target": h.Target, "kernel": h.Kernel, "began": h.Began}})
}

type page struct {
	h      *events.Header
	out    []event
	tracks map[string]uint32
}

func (p *page) us(ns int64) float64 { return float64(ns-p.h.BeganNs) / 1000 }

// name writes the name of a process or thread once.
func (p *page) name(kind, name string, pid, tid uint32) {
	k := fmt.Sprintf("%s %d %d", kind, pid, tid)
	if _, ok := p.tracks[k]; ok {
		return
	}
	p.tracks[k] = 0
	p.out = append(p.out, event{Name: kind, Phase: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
}

func (p *page) call(c *chain.Chain) {
	p.name("process_name", c.Process, c.Call.PID, c.Call.PID)
	p.name("thread_name", c.Call.Comm, c.Call.PID, c.Call.TID)
	args := map[string]any{"file": c.File}

	if c.Call.Result != 0 { // known only for syncs of ext4
		args["result"] = c.Call.Result
	}

	p.out = append(p.out, event{Name: c.Call.Kind.String(), Cat: "call", Phase: "X", TS: p.us(c.Call.Enter),
		Dur: float64(c.Took()) / 1000,
		PID: c.Call.PID, TID: c.Call.TID, Args: args})
	for i := range c.Segments {
		s := &c.Segments[i]
		name := string(s.Stage)
		if s.Place != chain.InCall {
			name = string(s.Place) + ": " + name
		}

		args := map[string]any{}
		if len(s.Shares) > 0 {
			args["behind"] = s.Shares
		}

		if s.Stack != "" {
			args["stack"] = s.Stack
		}

		p.out = append(p.out, event{Name: name, Cat: "stage", Phase: "X", TS: p.us(s.From),
			Dur: float64(s.Took()) / 1000, PID: c.Call.PID, TID: c.Call.TID, Args: args})
	}
}

// request writes one request as an asynchronous slice, because requests of one owner overlap.
func (p *page) request(r *events.Request, n int, owner string) {
	disk := fmt.Sprintf("%d:%d", r.Dev>>20, r.Dev&(1<<20-1))
	if d := p.h.Disk(r.Dev); d != nil {
		disk = d.Name
	}
	pid := diskBase + r.Dev%diskBase
	p.name("process_name", "disk "+disk, pid, 0)
	id := fmt.Sprintf("r%d", n)
	args := map[string]any{"sector": r.Sector, "bytes": r.Bytes, "flags": fmt.Sprintf("%#x", r.Flags),
		"submitted by": fmt.Sprintf("%s %d", r.Comm, r.TID),
		"waited_us":    float64(r.Started()-r.Begin()) / 1000, "device_us": float64(r.Done-r.Started()) / 1000}
	p.out = append(p.out, event{Name: owner, Cat: disk, Phase: "b", TS: p.us(r.Begin()), ID: id, PID: pid,
		Args: args},
		event{Name: owner, Cat: disk, Phase: "e", TS: p.us(r.Done), ID: id, PID: pid})
}
