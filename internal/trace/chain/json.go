package chain

import (
	"time"

	"plimsoll/internal/trace/events"
)

// The JSON form of a report. Its names are a public interface.
type (
	// JSON is a report.
	JSON struct {
		Target         string        `json:"target"`
		Kernel         string        `json:"kernel"`
		Began          time.Time     `json:"began"`
		Seconds        float64       `json:"seconds"`
		SlowerSeconds  float64       `json:"slower_than_seconds"`
		Calls          []jsonKind    `json:"calls"`
		Slow           int           `json:"slow_calls"`
		SlowSeconds    float64       `json:"slow_seconds"`
		Causes         []jsonCause   `json:"causes"`
		Stages         []jsonStage   `json:"stages"`
		Behind         []jsonBehind  `json:"behind"`
		Worst          []jsonChain   `json:"worst"`
		Processes      []jsonCaller  `json:"processes"`
		Disks          []events.Disk `json:"disks"`
		LostEvents     uint64        `json:"lost_events"`
		EventsCut      bool          `json:"events_cut"`
		NotSeen        []string      `json:"not_seen"`
		Notes          []string      `json:"notes"`
		UnexplainedPct float64       `json:"unexplained_share"`
	}
	jsonKind struct {
		Call        string  `json:"call"`
		Calls       uint64  `json:"calls"`
		Seconds     float64 `json:"seconds"`
		Slowest     float64 `json:"slowest_seconds"`
		Slow        int     `json:"slow_calls"`
		SlowSeconds float64 `json:"slow_seconds"`
	}
	jsonCause struct {
		Kind     CauseKind `json:"kind"`
		Culprit  *Culprit  `json:"culprit,omitempty"`
		Seconds  float64   `json:"seconds"`
		Share    float64   `json:"share"`
		Requests int       `json:"requests_ahead,omitempty"`
		Bytes    int64     `json:"bytes_ahead,omitempty"`
	}
	jsonStage struct {
		Stage   Stage   `json:"stage"`
		Seconds float64 `json:"seconds"`
		Share   float64 `json:"share"`
	}
	jsonBehind struct {
		Place    Place    `json:"place,omitempty"`
		Stage    Stage    `json:"stage"`
		Culprit  *Culprit `json:"culprit,omitempty"`
		Seconds  float64  `json:"seconds"`
		Share    float64  `json:"share"`
		Calls    int      `json:"calls"`
		Requests int      `json:"requests_ahead,omitempty"`
		Bytes    int64    `json:"bytes_ahead,omitempty"`
	}
	jsonChain struct {
		Call     string        `json:"call"`
		Process  string        `json:"process"`
		Thread   string        `json:"thread,omitempty"` // if its name differs from the process's
		PID      uint32        `json:"pid"`
		TID      uint32        `json:"tid"`
		File     string        `json:"file,omitempty"`
		Holds    string        `json:"holds,omitempty"` // what the file holds, as its server names it
		At       time.Time     `json:"at"`
		Seconds  float64       `json:"seconds"`
		Segments []jsonSegment `json:"segments"`
	}
	jsonSegment struct {
		Place   Place        `json:"place,omitempty"`
		Stage   Stage        `json:"stage"`
		FromS   float64      `json:"from_seconds"` // since the call's start
		Seconds float64      `json:"seconds"`
		Behind  []jsonBehind `json:"behind,omitempty"`
		Stack   string       `json:"stack,omitempty"`
	}
	jsonCaller struct {
		Process string   `json:"process"`
		PID     uint32   `json:"pid"`
		Calls   int      `json:"slow_calls"`
		Seconds float64  `json:"seconds"`
		Files   []string `json:"files"`
	}
)

// behindMax bounds the number of culprits and callers listed in the JSON.
const behindMax = 100

// JSON returns the report in its machine-readable form.
func (r *Report) JSON() *JSON {
	h := r.Header
	out := &JSON{Target: h.Target, Kernel: h.Kernel, Began: h.Began, Seconds: h.Lasted.Seconds(),
		SlowerSeconds: h.Slower.Seconds(),
		Slow:          r.Slow, SlowSeconds: r.SlowTime.Seconds(), Disks: h.Disks, LostEvents: h.Totals.Lost,
		EventsCut: h.Cut,
		NotSeen:   h.Missing, Notes: r.Notes, UnexplainedPct: r.Of(Unexplained)}

	for _, k := range r.Kinds {
		out.Calls = append(out.Calls, jsonKind{k.Kind.String(), k.Calls, k.Time.Seconds(), k.Most.Seconds(), k.Slow,
			k.SlowTime.Seconds()})
	}

	for _, c := range r.Causes() {
		out.Causes = append(out.Causes,
			jsonCause{c.Kind, pointer(c.Culprit), c.Time.Seconds(), c.Share, c.Requests, c.Bytes})
	}

	for _, s := range r.Stages {
		out.Stages = append(out.Stages, jsonStage{s.Stage, s.Time.Seconds(), s.Share})
	}

	for i := range r.Behind[:min(len(r.Behind), behindMax)] {
		b := &r.Behind[i]
		out.Behind = append(out.Behind,
			jsonBehind{b.Place, b.Stage, pointer(b.Culprit), b.Time.Seconds(), b.Share, b.Calls, b.Requests, b.Bytes})
	}

	for i := range r.Worst {
		out.Worst = append(out.Worst, r.Worst[i].json(h))
	}

	for _, c := range r.Callers[:min(len(r.Callers), behindMax)] {
		out.Processes = append(out.Processes, jsonCaller{c.Comm, c.PID, c.Calls, c.Time.Seconds(), c.Files})
	}

	return out
}

func pointer(c Culprit) *Culprit {
	if c == (Culprit{}) {
		return nil
	}
	return &c
}

func (c *Chain) json(h *events.Header) jsonChain {
	out := jsonChain{Call: c.Call.Kind.String(), Process: c.Process, PID: c.Call.PID, TID: c.Call.TID,
		File: c.File, Holds: h.Holds[c.File],
		At: h.Clock(c.Call.Enter), Seconds: c.Took().Seconds()}
	if c.Call.Comm != c.Process {
		out.Thread = c.Call.Comm
	}

	for i := range c.Segments {
		s := &c.Segments[i]
		x := jsonSegment{Place: s.Place, Stage: s.Stage, FromS: time.Duration(s.From - c.Call.Enter).Seconds(),
			Seconds: s.Took().Seconds(), Stack: s.Stack}
		for _, b := range s.Shares {
			// An empty culprit carries no information beyond the stage.
			if b.Culprit == (Culprit{}) {
				continue
			}
			share := 0.0
			if s.Took() > 0 {
				share = float64(b.Time) / float64(s.Took())
			}
			x.Behind = append(x.Behind, jsonBehind{Stage: s.Stage, Culprit: pointer(b.Culprit),
				Seconds: b.Time.Seconds(), Share: share, Calls: 1, Requests: b.Requests, Bytes: b.Bytes})
		}

		out.Segments = append(out.Segments, x)
	}

	return out
}
