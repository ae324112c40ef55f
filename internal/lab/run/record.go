//go:build linux

package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/lab/loadgen"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/host"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A recorder writes the series of the measured time.
type recorder struct {
	w        recording.Writer
	volumes  map[string]string // volume by device: "loop3" is "data"
	existing *Existing         // nil: the lab started the server
	first    time.Time
	last     time.Time
	samples  int64

	cut    atomic.Bool // the power is off, so failures are expected
	mu     sync.Mutex
	failed []error // one for each source that failed
	noted  map[string]bool
}

func newRecorder(w recording.Writer, devices map[string]string) *recorder {
	r := &recorder{w: w, volumes: map[string]string{}, noted: map[string]bool{}}
	for name, device := range devices {
		r.volumes[device] = name
	}
	return r
}

// read reads live sources until stop is called.
func (r *recorder) read(ctx context.Context, sources []source.Source) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	one := func(s source.Source, w recording.Writer) {
		all.Go(func() {
			if err := s.Read(ctx, w, source.Options{Period: time.Second, Parallel: 1}); err != nil &&
				ctx.Err() == nil && !r.cut.Load() {
				r.fail(s.Describe().Name, err)
			}
		})
	}

	for _, s := range sources {
		one(s, r.w)
	}

	if r.existing != nil && !r.existing.Local {
		return func() { cancel(); all.Wait() } // this machine is not the server's
	}

	// With emulated volumes, this machine's other disks say nothing about the server.
	if this, err := host.Open(""); err != nil {
		r.fail("this machine", err)
	} else if r.existing != nil {
		one(this, r.w)
	} else {
		one(this, &ownDevices{Writer: r.w, volumes: r.volumes, seen: map[string]labels.Labels{}})
	}

	return func() { cancel(); all.Wait() }
}

// fail records that a source could not be read.
func (r *recorder) fail(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// A source that fails keeps failing, so one note is enough.
	if r.noted[name] {
		return
	}
	r.noted[name] = true
	r.failed = append(r.failed, fmt.Errorf("cannot record %s: %w", name, err))
	r.w.Note(recording.Note{Kind: recording.NoteGap, Source: name,
		Text: "could not be read any further: " + err.Error()})
}

// own records the statistics of the load generator and the volumes.
func (r *recorder) own(ctx context.Context, at time.Time, t loadgen.Totals,
	volumes []mount.VolumeStatus) error {
	var b recording.Batch
	b.TimesMs = []int64{at.UnixMilli()}
	add := func(value float64, name string, pairs ...string) {
		b.Columns = append(b.Columns, recording.Column{
			Labels: labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...),
			Values: []float64{value},
		})
	}

	for kind, k := range map[string]*loadgen.KindTotals{"read": &t.Reads, "write": &t.Writes} {
		add(float64(k.Done), "plimsoll_client_operations_total", "kind", kind)
		add(float64(k.Took)/1e9, "plimsoll_client_latency_seconds_total", "kind", kind)
		add(float64(k.Max)/1e9, "plimsoll_client_latency_seconds_max", "kind", kind)
		if k.Done > 0 { // otherwise, a hundred series of zeros
			b.Columns = append(b.Columns, felt(kind, &k.Felt)...)
		}
	}

	add(float64(t.Waiting), "plimsoll_client_waiting")
	for _, v := range volumes {
		for _, limit := range slices.Sorted(maps.Keys(v.HeldBy)) {
			add(v.HeldBy[limit], "plimsoll_lab_held_seconds_total", "volume_id", v.Name, "limit", limit)
		}
		if v.Credits != nil {
			add(100**v.Credits, "aws_ebs_burst_balance_average", "volume_id", v.Name)
		}
		add(v.LateP50, "plimsoll_lab_late_seconds", "volume_id", v.Name, "quantile", "0.5")
		add(v.LateP99, "plimsoll_lab_late_seconds", "volume_id", v.Name, "quantile", "0.99")
	}

	if r.first.IsZero() {
		r.first = at
	}

	r.last = at
	r.samples++
	return r.w.Append(ctx, &b)
}

// end adds the recording's origin.
func (r *recorder) end(sc *scenario.Scenario, l *Lab) error {
	facts := map[string]string{
		"seed": strconv.FormatUint(uint64(sc.Seed), 10), "server": l.Server, "kernel": l.Kernel,
		"cores":        strconv.Itoa(l.Cores),
		"memory_bytes": strconv.FormatInt(l.Memory, 10), "filesystem": l.FileSystem, "backing": l.Backing,
		"saturated": strconv.FormatBool(l.Saturated),
	}

	if sc.Host.Instance != "" {
		facts["instance_type"] = sc.Host.Instance
	}

	if r.existing == nil { // the facts describe the emulated volumes
		maps.Copy(facts, sc.DeviceFacts())
		facts["filesystem"] = l.FileSystem
	}

	for device, name := range r.volumes {
		maps.Copy(facts, queueFacts(device, name))
		facts["device_of_"+strings.ReplaceAll(name, "/", "_")] = device
	}

	// Describe returns "PRODUCT VERSION" for engines that are databases.
	version := ""
	if sc.Engine.Database() != "" {
		_, version, _ = strings.Cut(l.Server, " ")
	}

	r.w.Source(recording.Source{
		Kind: "lab", Name: sc.Name, Engine: sc.Engine.Database(), Version: version, From: r.first.UTC(),
		To:     r.last.UTC(),
		Period: time.Second, Samples: r.samples, Facts: facts,
	})

	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.failed...)
}

// ownDevices drops block devices that are not the lab's, and renames the others to their volumes.
type ownDevices struct {
	recording.Writer
	volumes map[string]string
	seen    map[string]labels.Labels // renamed labels, by metric and device
}

// Append passes on the lab's series.
func (o *ownDevices) Append(ctx context.Context, b *recording.Batch) error {
	out := recording.Batch{TimesMs: b.TimesMs, Columns: make([]recording.Column, 0, len(b.Columns))}
	for _, c := range b.Columns {
		device := c.Labels.Get("device")
		if device == "" {
			out.Columns = append(out.Columns, c)
			continue
		}

		volume, ours := o.volumes[device]
		if !ours {
			continue
		}

		key := c.Labels.Get(labels.MetricName) + " " + device
		l, ok := o.seen[key]
		if !ok {
			l = labels.NewBuilder(c.Labels).Set("device", volume).Labels()
			o.seen[key] = l
		}

		out.Columns = append(out.Columns, recording.Column{Labels: l, Values: c.Values})
	}

	return o.Writer.Append(ctx, &out)
}
