package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// runs cites how to reproduce and record each result. The evidence of a figure then says where the
// figure is in that result.
func (g *ledger) runs(results []*simulate.Result) {
	for i, r := range results {
		g.run(r, g.sets(i))
	}
}

func (g *ledger) sets(i int) []string {
	if i < len(g.Sets) {
		return g.Sets[i]
	}
	return nil
}

// run cites how to reproduce one result.
func (g *ledger) run(r *simulate.Result, sets []string) string {
	again := g.simulated(sets)
	ran := g.cite(document.Evidence{Name: "Run: " + variantName(r),
		Commands: []string{again + " -o json", again + " --out DIR"}})
	if g.ran[r.Variant] = ran; g.first == "" {
		g.first = ran
	}
	return ran
}

// figureSource says where a figure comes from: its fields in the JSON of a result, PromQL over a
// recording, and the keys of the scenario that decide it.
type figureSource struct {
	name, text string
	fields     []string
	promQL     []string
	keys       []string
}

// figure cites the evidence of a figure of the runs.
func (g *ledger) figure(f figureSource) string {
	if g.real {
		// Only the clients' latencies have the same metric in the lab's recording as in the
		// model's.
		f.promQL = slices.DeleteFunc(f.promQL,
			func(q string) bool { return !strings.Contains(q, "plimsoll_client_latency") })
		if len(f.promQL) == 0 {
			f.text = ""
		}
	}
	return g.cite(document.Evidence{Name: f.name, Text: f.text, Fields: f.fields, PromQL: f.promQL,
		Lines: g.where(f.keys...)})
}

// spanOf formats a result's measured time as a PromQL range.
func spanOf(r *simulate.Result) string { return strconv.FormatFloat(r.Seconds, 'f', -1, 64) + "s" }

// classEvidence is the evidence of latencies; kind is "write" or "read", class a subset.
func (g *ledger) classEvidence(r *simulate.Result, kind, class string) string {
	f := figureSource{name: "Latency of " + kind + "s", fields: []string{kind + "s." + class},
		keys: []string{"workload", "engine"}}
	switch class {
	case "all":
		f.promQL = []string{fmt.Sprintf(`histogram_quantile(0.99, sum by (le) (increase(plimsoll_client_latency_seconds_bucket{kind=%q}[%s])))`,
			kind, spanOf(r))}
		f.text = "Latency counts from each operation's intended start. The recording's buckets are 12 % wide; for another percentile, replace 0.99."
	case "during_checkpoint":
		f.name += " in a " + cycleWord(r)
	case "outside_checkpoint":
		f.name += " outside"
	default:
		f.name += " by the time since a " + cycleWord(r)
	}

	return g.figure(f)
}

// doneEvidence is the evidence of operations per second.
func (g *ledger) doneEvidence(r *simulate.Result) string {
	return g.figure(figureSource{name: "Operations a second",
		fields: []string{"done_per_second", "asked_per_second"},
		keys:   []string{"workload"},
		promQL: []string{"sum(increase(plimsoll_client_latency_seconds_count[" + spanOf(r) + "])) / " +
			strconv.FormatFloat(r.Seconds, 'f', -1, 64)}})
}

// cyclesEvidence is the evidence of checkpoints, or the engine's equivalent.
func (g *ledger) cyclesEvidence(r *simulate.Result) string {
	f := figureSource{name: sentenceCase(cycleWord(r)) + "s", fields: []string{"checkpoints"},
		keys: []string{"engine"}}
	if q := r.Queries; q.CycleMedian != "" {
		f.promQL, f.text = []string{overRun(q.CycleMedian, r)}, q.CycleNote
	}
	return g.figure(f)
}

// overRun extends an engine's query to the whole run.
func overRun(query string, r *simulate.Result) string {
	return strings.ReplaceAll(query, "$span", spanOf(r))
}

// dirtyEvidence is the evidence of the page cache.
func (g *ledger) dirtyEvidence(r *simulate.Result) string {
	return g.figure(figureSource{name: "Page cache", fields: []string{"host.dirty_bytes_max"},
		keys:   []string{"host"},
		promQL: []string{"max_over_time(sum(node_memory_Dirty_bytes)[" + spanOf(r) + ":1s])"}})
}

// engineDirtyEvidence is the evidence of the engine's own cache.
func (g *ledger) engineDirtyEvidence(r *simulate.Result) string {
	f := figureSource{name: "Dirty in the engine's cache", fields: []string{"checkpoints.dirty_bytes_max"},
		keys: []string{"engine"}}
	if q := r.Queries.DirtyMax; q != "" {
		f.promQL = []string{overRun(q, r)}
	}
	return g.figure(f)
}

// volumeEvidence is the evidence of a volume's use, from node_exporter's device counters.
func (g *ledger) volumeEvidence(r *simulate.Result, name string) string {
	i := slices.IndexFunc(r.Volumes, func(v simulate.VolumeResult) bool { return v.Name == name })
	f := figureSource{name: "Volume " + name,
		keys: []string{"volumes." + name[strings.LastIndexByte(name, '/')+1:]}}
	if i < 0 {
		return g.figure(f)
	}

	f.text = "Requests per second, and busy in its worst 10 s."
	if run := g.ran[r.Variant]; len(g.ran) > 1 && run != "" && run != g.first {
		f.text += " In the run of [" + document.EvidenceNumber(run) + "]."
	}

	f.fields = []string{"volumes[" + strconv.Itoa(i) + "]"}
	of := func(counter string) string { return fmt.Sprintf("node_disk_%s{device=%q}", counter, name) }
	span := spanOf(r)
	f.promQL = []string{
		fmt.Sprintf("rate(%s[%s]) + rate(%s[%s])", of("reads_completed_total"), span,
			of("writes_completed_total"), span),
		fmt.Sprintf("max_over_time(rate(%s[10s])[%s:1s])", of("io_time_seconds_total"), span),
	}

	return g.figure(f)
}

// waitsEvidence is the evidence of where writes waited, which no exporter reports.
func (g *ledger) waitsEvidence() string {
	return g.figure(figureSource{name: "Where writes waited", fields: []string{"waits"},
		text: "No exporter reports it: it is only in the result."})
}

func (g *ledger) objectiveEvidence() string {
	return g.figure(figureSource{name: "Objectives", fields: []string{"objectives"},
		keys: []string{"objective"}})
}

// hostEvidence is the evidence of the engine's own figures and of the machine.
func (g *ledger) hostEvidence() string {
	return g.figure(figureSource{name: "Host and engine", fields: []string{"host", "engine_figures"},
		keys: []string{"host", "engine"}})
}
