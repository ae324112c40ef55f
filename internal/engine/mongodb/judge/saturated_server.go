package judge

import (
	"fmt"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A server is saturated if its CPUs and its connections are busy while it completes as much as it
// can. In a stall, connections are busy too, but nearly nothing completes.
const (
	saturatedCPU         = 0.85
	saturatedConnections = 0.80 // of the clients' connections have an operation in progress
	leastConnections     = 8
	// borneOut is the part of the busy connections that the latency counters must also account for.
	// The others wait for new data or for a topology change (see OperationsInProgress).
	borneOut        = 0.5
	saturatedGoesOn = 0.5 // of the usual completions
	saturatedS      = 10.0
	saturatedMostly = 0.25 // of the time under load: then the verdict begins with it
)

func saturatedServer() rules.Rule {
	rule := rules.Rule{ID: "mongodb/saturated-server", Title: "The server is saturated", Kind: rules.Symptom,
		Whole: true,
		When: "plimsoll:cpu_busy:ratio > 0.85 and on() (plimsoll:mongodb_active_connections:count > 0.8 * plimsoll:mongodb_connections:count)" +
			" and on() (plimsoll:mongodb_operations_in_progress:ratio > 0.5 * plimsoll:mongodb_active_connections:count)",
		Needs: []*rules.Signal{rules.CPUBusy, ActiveConnections, Connections, OperationsInProgress, Writes},
		Cause: "All connections have an operation in progress and the CPUs are busy, so the server is at capacity. New requests wait in front of it, for a connection from the client's pool or for the reply to the previous operation. The server's own latencies start when it receives an operation, so they do not include that wait.",
		Words: rules.Words{
			"busy":     "For {{.for}} ({{.share}} of the time under load) {{.active}} of {{.connections}} connections had an operation in progress, and the CPUs were {{.cpu}} busy. {{.ops}} operations completed per second (95 % of these intervals: at most {{.most}}).",
			"in front": "The server's own mean latency during that time is {{.latency}}. It does not include the time clients waited in front of the server: compare it with latencies measured by the clients.",
			"opening":  "The server is saturated: for {{.for}} of {{.watched}} {{.active}} of its {{.connections}} connections were busy, at {{.ops}} operations per second and {{.cpu}} of the CPUs; its own latencies do not include the time clients waited in front of it.",
		},
		Advice: map[string]rules.Advice{
			"cpu": {Summary: "Reduce the CPU load (see what scans, sorts or compresses), or use an instance with more cores",
				Expect: "it completes more per second, and the wait in front of it shrinks", TradeOff: "the instance's price",
				NoCommand: "the fix depends on what uses the CPUs"},
			"bound": {Summary: "Bound the queue in front of the server: maxPoolSize and waitQueueTimeoutMS in the driver, and shed load there",
				Expect:    "clients fail early instead of waiting for seconds",
				TradeOff:  "errors that the application has to handle; more connections would only move the wait into the server",
				NoCommand: "it is set in the drivers and the application"},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		ops := completions(input)
		usual := timeline.Quantile(ops, 0.5)

		// In a stall the connections are busy as well, but completions collapse.
		goesOn := timeline.Where(ops, func(x float64) bool { return x >= saturatedGoesOn*usual })
		many := timeline.Where(input.One(Connections), func(x float64) bool { return x >= leastConnections })
		cells := rules.Held(held).And(goesOn).And(many)

		share := rules.Share(cells, input.Stall.Active)
		if input.Seconds(cells) < saturatedS || share < rules.MinAttributable {
			return nil
		}

		at := func(v []float64, q float64) float64 { return timeline.Quantile(timeline.At(v, cells), q) }
		finding := rule.Finding("mongodb")
		finding.Weight, finding.Severity = share, rules.Warning
		finding.Windows = input.Windows(cells.Close(3))
		said := rules.Values{"for": rules.Seconds(input.Seconds(cells)), "share": rules.Part(share),
			"watched": rules.Seconds(input.Seconds(input.Stall.Active)),
			"active":  whole(at(input.One(ActiveConnections), 0.5)), "connections": whole(at(input.One(Connections), 0.5)),
			"cpu": rules.Part(at(input.One(rules.CPUBusy), 0.5)),
			"ops": rules.Number(at(ops, 0.5)), "most": rules.Number(at(ops, 0.95))}

		finding.Say("busy", said)

		// Total waiting over total writes, because the mean of per-cell means would favour idle
		// cells.
		waited, writes := timeline.Sum(timeline.At(input.One(WriteWaiting), cells)),
			timeline.Sum(timeline.At(input.One(Writes), cells))
		if latency := waited / writes; writes > 0 && latency == latency {
			finding.Say("in front", rules.Values{"latency": rules.Seconds(latency)})
			finding.Evidence = append(finding.Evidence,
				input.Figure("mean latency of writes during that time, as the server counts it", WriteLatency, latency,
					"seconds", cells))
		}

		if share >= saturatedMostly {
			finding.Severity = rules.Critical
			finding.Open("opening", said)
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("connections with an operation in progress, median", ActiveConnections,
				at(input.One(ActiveConnections), 0.5), "", cells),
			input.Figure("clients' connections, median", Connections, at(input.One(Connections), 0.5), "", cells),
			input.Figure("operations completed, median", nil, at(ops, 0.5), "1/s", cells),
			input.Figure("CPU use, median", rules.CPUBusy, at(input.One(rules.CPUBusy), 0.5), "ratio", cells))

		finding.Advise("cpu", nil)
		finding.Advise("bound", nil)
		return []rules.Finding{finding}
	}

	return rule
}

// whole formats a count for a sentence.
func whole(x float64) rules.Value { return rules.Value(fmt.Sprintf("%.0f", x)) }

// completions is the number of all operations that ended, per second.
func completions(c *rules.Case) []float64 {
	out := make([]float64, c.Grid.N)
	for _, s := range []*rules.Signal{Writes, Reads, Commands} {
		for k, x := range c.One(s) {
			if x > 0 {
				out[k] += x
			}
		}
	}
	return out
}
