package watch

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/record/source"
)

// labelMax bounds the length of a label value in bytes: subjects and names come from sources.
const labelMax = 200

// The metrics. A finding's series exists while the finding is in the window; use
// `plimsoll_finding_active == 1` with a `for` for alerts, because it clears when the finding is
// over.
var (
	descFinding = newPerServer("plimsoll_finding",
		"1 for each finding of the window, by its rule and the device, engine or member concerned.", "rule",
		"subject", "severity", "kind")
	descFindingActive = newPerServer("plimsoll_finding_active",
		"For each finding of the window: 1 while it still holds, 0 once it is over.", "rule", "subject",
		"severity", "kind")
	descFindingShare = newPerServer("plimsoll_finding_stalled_ratio",
		"Share of the window's stalled time that a finding explains, 0 to 1.", "rule", "subject")
	descFindingSince = newPerServer("plimsoll_finding_since_timestamp_seconds",
		"When a finding began to hold, in seconds since 1970.", "rule", "subject")
	descWindow = newPerServer("plimsoll_window_observed_seconds",
		"Time of the window in which client latency is measurable.")
	descWindowStalled = newPerServer("plimsoll_window_stalled_seconds",
		"Time of the window in which clients stalled.")
	descStall = newPerServer("plimsoll_stall_in_progress",
		"1 while clients stall, 0 while they do not.", "subject")
	descStalls = newPerServer("plimsoll_stalls_total",
		"Stalls that began since the watch started.")
	descStalled = newPerServer("plimsoll_stalled_seconds_total",
		"Time of the stalls that ended since the watch started.")
	descLatency = newPerServer("plimsoll_client_latency_seconds",
		"Mean latency of clients' operations in the newest 15 s.", "subject")
	descHighest = newPerServer("plimsoll_client_latency_highest_seconds",
		"Highest mean latency of a sampling interval in the newest 15 s.", "subject")
	descUsual = newPerServer("plimsoll_client_latency_usual_seconds",
		"Median over the window of the mean latencies of its sampling intervals.", "subject")
	descRate = newPerServer("plimsoll_client_operations_rate",
		"Clients' operations completed per second in the newest 15 s.", "subject")
	descUp = prometheus.NewDesc("plimsoll_source_up",
		"1 while a source delivers samples.", []string{"source"}, nil)
	descSamples = prometheus.NewDesc("plimsoll_source_samples_total",
		"Samples taken from a source: times, not values.", []string{"source"}, nil)
	descValues = prometheus.NewDesc("plimsoll_source_values_total",
		"Values in the samples of a source.", []string{"source"}, nil)
	descDropped = prometheus.NewDesc("plimsoll_source_dropped_values_total",
		"Values of a source that were dropped because their timestamps are too far from this machine's clock, or because the source has too many series.",
		[]string{"source"}, nil)
	descLag = prometheus.NewDesc("plimsoll_source_lag_seconds",
		"Time since the newest sample of a source arrived.", []string{"source"}, nil)
	descMemory = prometheus.NewDesc("plimsoll_window_memory_bytes",
		"Memory used by the windows' samples, by their own count.", nil, nil)
	descHeap = prometheus.NewDesc("plimsoll_heap_bytes",
		"Heap memory of this process: windows, ring, pages being read, and garbage not collected yet.",
		nil, nil)
	descResident = prometheus.NewDesc("plimsoll_resident_memory_bytes",
		"Resident memory of this process.", nil, nil)
	descRing = prometheus.NewDesc("plimsoll_ring_bytes",
		"Size of the ring's files on disk.", nil, nil)
	descRingWriting = prometheus.NewDesc("plimsoll_ring_writing",
		"1 while the ring on disk can be written, 0 while its disk is full or fails.", nil, nil)
	descRingLost = prometheus.NewDesc("plimsoll_ring_lost_values_total",
		"Values missing in the ring because its disk was full, failed, or was too slow.", nil, nil)
	descRingWaiting = prometheus.NewDesc("plimsoll_ring_waiting_values",
		"Values waiting to be written to the ring.", nil, nil)
	descPushing = prometheus.NewDesc("plimsoll_push_working",
		"1 while samples are pushed (--remote-write), 0 while the receiver does not accept them.", nil, nil)
	descPushLost = prometheus.NewDesc("plimsoll_push_lost_values_total",
		"Values that were not pushed because the receiver did not accept them or was too slow.", nil, nil)
	descPushWaiting = prometheus.NewDesc("plimsoll_push_waiting_values",
		"Values waiting to be pushed.", nil, nil)
	descTraceActive = prometheus.NewDesc("plimsoll_trace_active",
		"1 while system calls are traced (--trace auto), 0 while they are not.", nil, nil)
	descTraces = prometheus.NewDesc("plimsoll_traces_total",
		"Traces of system calls that began since the watch started.", nil, nil)
	descTraceTime = prometheus.NewDesc("plimsoll_trace_seconds_total",
		"Time in which system calls were traced.", nil, nil)
	descDiagnoses = prometheus.NewDesc("plimsoll_diagnoses_total",
		"Diagnoses made.", nil, nil)
	descDiagnosesFailed = prometheus.NewDesc("plimsoll_diagnoses_failed_total",
		"Diagnoses that failed, mostly for lack of samples.", nil, nil)
	descDiagnosing = prometheus.NewDesc("plimsoll_diagnosing_seconds_total",
		"CPU time used by diagnoses.", nil, nil)
	descDiagnosed = prometheus.NewDesc("plimsoll_diagnosis_timestamp_seconds",
		"Time of the newest sample in the last diagnosis, in seconds since 1970.", nil, nil)
	descHeadroom = newPerServer("plimsoll_headroom_ratio",
		"Smallest unused part of a limit in any interval of the window, at the finest resolution; 0 if the limit was reached.",
		"resource", "subject")
	descToLimit = newPerServer("plimsoll_seconds_to_limit",
		"Time until a limit is reached at the current rate; no series if it will not be reached or if that is unknown.",
		"resource", "subject")
	descBuild = prometheus.NewDesc("plimsoll_build_info",
		"1, with the program's version.", []string{"version"}, nil)
)

// Registry holds everything served under /metrics: findings, what clients wait for, the sources'
// storage, and the cost of watching (process_* and go_* come from client_golang).
func (w *Watch) Registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(w, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector())
	return r
}

// Describe implements prometheus.Collector. It sends nothing, because the series depend on what is
// watched.
func (w *Watch) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (w *Watch) Collect(ch chan<- prometheus.Metric) {
	// Copy the state: Prometheus may read the channel slowly.
	w.mu.Lock()
	latest := w.state
	w.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64,
		labels ...string) {
		give(ch, d, prometheus.GaugeValue, v, labels)
	}

	counter := func(d *prometheus.Desc, v float64,
		labels ...string) {
		give(ch, d, prometheus.CounterValue, v, labels)
	}

	gauge(descBuild, 1, w.opt.Version)
	collectFindings(ch, latest.states)
	if latest.report != nil {
		gauge(descDiagnosed, seconds(latest.at))
		for _, r := range latest.report.All() {
			server := ""
			if r.Server != nil {
				server = r.Server.Name
			}
			descWindow.gauge(ch, server, r.Stalls.Of)
			descWindowStalled.gauge(ch, server, r.Stalls.Seconds)
			collectHeadroom(ch, server, r.Headroom)
		}
	}

	counter(descDiagnoses, float64(latest.diagnoses))
	counter(descDiagnosesFailed, float64(latest.failed))
	counter(descDiagnosing, latest.cost.Seconds())
	collectStalls(ch, latest.stallsNow)

	if w.ring != nil {
		writing, lost, waiting := w.ring.health()
		gauge(descRing, float64(latest.ringBytes))
		gauge(descRingWriting, flag(writing))
		counter(descRingLost, float64(lost))
		gauge(descRingWaiting, float64(waiting))
	}

	if w.push != nil {
		working, lost, waiting := w.push.health()
		gauge(descPushing, flag(working))
		counter(descPushLost, float64(lost))
		gauge(descPushWaiting, float64(waiting))
	}

	if w.tracing != nil {
		active, runs, total := w.tracing.Count()
		gauge(descTraceActive, flag(active))
		counter(descTraces, float64(runs))
		counter(descTraceTime, total.Seconds())
	}

	w.collectFeeds(ch)
}

// A perServer is a metric of a server. It has the label "server" if there are several servers.
type perServer struct{ plain, named *prometheus.Desc }

func newPerServer(name, help string, labels ...string) perServer {
	return perServer{plain: prometheus.NewDesc(name, help, labels, nil),
		named: prometheus.NewDesc(name, help, append(slices.Clone(labels), "server"), nil)}
}

func (d perServer) gauge(ch chan<- prometheus.Metric, server string, v float64, labels ...string) {
	d.give(ch, prometheus.GaugeValue, server, v, labels)
}

func (d perServer) give(ch chan<- prometheus.Metric, kind prometheus.ValueType, server string, v float64,
	labels []string) {
	if server == "" {
		give(ch, d.plain, kind, v, labels)
		return
	}
	give(ch, d.named, kind, v, append(labels, server))
}

func collectStalls(ch chan<- prometheus.Metric, all []stallState) {
	if len(all) == 0 {
		all = []stallState{{}} // export zeros before the first stall
	}
	for _, now := range all {
		descStalls.give(ch, prometheus.CounterValue, now.Server, float64(now.Count), nil)
		descStalled.give(ch, prometheus.CounterValue, now.Server, now.Stalled, nil)
		if now.Subject == "" {
			continue
		}
		descStall.gauge(ch, now.Server, flag(now.Going), now.Subject)
		descLatency.gauge(ch, now.Server, now.Latency, now.Subject)
		descHighest.gauge(ch, now.Server, now.Highest, now.Subject)
		descUsual.gauge(ch, now.Server, now.Usual, now.Subject)
		descRate.gauge(ch, now.Server, now.Rate, now.Subject)
	}
}

func collectFindings(ch chan<- prometheus.Metric, states []State) {
	given := map[[3]string]bool{} // shortened labels may be equal
	for _, st := range states {
		f := st.Finding
		id := [3]string{f.Rule, label(f.Subject), label(st.Server)}
		if given[id] {
			continue
		}

		given[id] = true
		descFinding.gauge(ch, st.Server, 1, f.Rule, f.Subject, string(f.Severity), string(f.Kind))
		descFindingActive.gauge(ch, st.Server, flag(f.Ongoing), f.Rule, f.Subject, string(f.Severity),
			string(f.Kind))
		descFindingSince.gauge(ch, st.Server, seconds(st.Since), f.Rule, f.Subject)

		if f.Kind != diagnose.Refutation {
			descFindingShare.gauge(ch, st.Server, f.Weight, f.Rule, f.Subject)
		}
	}
}

// headroomMax bounds the limits exported for a server.
const headroomMax = 256

func collectHeadroom(ch chan<- prometheus.Metric, server string, all []headroom.Headroom) {
	given := map[[2]string]bool{} // shortened labels may be equal
	for _, h := range all {
		id := [2]string{h.Resource, label(h.Subject)}
		if h.Most == nil || h.Most.Ratio == nil || given[id] || len(given) == headroomMax {
			continue
		}
		given[id] = true
		descHeadroom.gauge(ch, server, max(0, 1-*h.Most.Ratio), h.Resource, h.Subject)
		if h.Ends != nil {
			descToLimit.gauge(ch, server, h.Ends.InS, h.Resource, h.Subject)
		}
	}
}

// labels returns the sources' names as label values. A number distinguishes sources with the same
// name.
func labels(feeds []*feed) []string {
	out, taken := make([]string, len(feeds)), map[string]bool{}
	for i, f := range feeds {
		name := label(f.name)
		// Shorten before adding the number, which would otherwise be cut off.
		for n := 2; taken[name]; n++ {
			suffix := "#" + strconv.Itoa(n)
			name = shortened(label(f.name), labelMax-len(suffix)) + suffix
		}
		out[i], taken[name] = name, true
	}
	return out
}

// collectFeeds collects the sources' metrics.
func (w *Watch) collectFeeds(ch chan<- prometheus.Metric) {
	memory := int64(0)
	names := labels(w.feeds)
	for i, f := range w.feeds {
		name := names[i]
		f.mu.Lock()
		samples, values, lag, silent := f.samples, f.values, time.Since(f.heard), f.silent
		f.mu.Unlock()
		memory += f.window.Bytes()
		give(ch, descUp, prometheus.GaugeValue, flag(samples > 0 && !silent), []string{name})
		give(ch, descSamples, prometheus.CounterValue, float64(samples), []string{name})
		give(ch, descValues, prometheus.CounterValue, float64(values), []string{name})

		if d, ok := f.in.Source.(source.Dropper); ok {
			give(ch, descDropped, prometheus.CounterValue, float64(d.Dropped()), []string{name})
		}

		give(ch, descLag, prometheus.GaugeValue, lag.Seconds(), []string{name})
		f.figs.collect(name, ch)
	}

	give(ch, descMemory, prometheus.GaugeValue, float64(memory), nil)
	heap, resident := processMemory()
	give(ch, descHeap, prometheus.GaugeValue, heap, nil)
	give(ch, descResident, prometheus.GaugeValue, resident, nil)
}

// give sends a metric unless its value is unknown.
func give(ch chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64,
	labels []string) {
	if math.IsNaN(v) {
		return
	}
	for i := range labels {
		labels[i] = label(labels[i])
	}
	ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
}

// label turns a text into a label value: valid UTF-8, and not too long.
func label(s string) string { return shortened(strings.ToValidUTF8(s, "\uFFFD"), labelMax) }

// shortened returns the beginning of a text, at most this many bytes, without splitting a
// character.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
