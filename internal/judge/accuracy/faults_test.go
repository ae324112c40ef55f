package accuracy_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/judge/accuracy"
	"plimsoll/internal/judge/diagnose"
)

// fewAndLong is the rule for operations that are long by themselves.
const fewAndLong = "queries/few-and-long"

// aQuota is a placeholder in a scenario for a quota that is drawn once the load is known.
const aQuota = "QUOTA"

// underQuota is a machine with spare cores: adding more changes nothing.
func (c chance) underQuota(in *incident) string {
	in.without["container/cpu-throttled"] = []string{"host.cpu_quota=0"}
	in.without["host/cpu-saturated"] = []string{"host.cores=64"}
	return fmt.Sprintf("cores: 8, memory: %dGiB, cpu_quota: %s", pick(c, 8, 16, 32), aQuota)
}

// withQuota draws the CPU quota of the database's container near the load's peak demand: rate
// operations per second, each taking the given number of microseconds.
func (c chance) withQuota(text string, rate, takes int) string {
	if !strings.Contains(text, aQuota) {
		return text
	}
	demand := float64(rate) * float64(takes) / 1e6
	return strings.Replace(text, aQuota, fmt.Sprintf("%d%%", max(5, int(demand*float64(c.among(60, 160))))), 1)
}

// longQueries makes one or two clients that run operations of a few tenths of a second back to back, on
// a machine and a volume with headroom, and checkpoints. There is no other load.
func longQueries(c chance, in *incident) string {
	in.family = "wiredtiger"
	data := c.volume(in, "data")
	in.disks(data)
	host := c.host(in)
	in.without["wiredtiger/journal-stall"] = []string{"volumes.journal=" + ample}
	in.without["wiredtiger/checkpoint-stall"] = []string{"engine.mongodb.checkpoint=2h"}
	in.everything = append([]string{"host.cores=64", "volumes.journal=" + ample, "engine.mongodb.checkpoint=2h"}, data.perfect...)
	updates := pick(c, 0, 10, 40)
	return host + "volumes:\n  data: " + data.text + "\n" +
		fmt.Sprintf("engine:\n  mongodb: {cache: %dMB, checkpoint: %ds, cpu: {operation: %dms}}\n", c.among(256, 4000), pick(c, 20, 40, 60), c.among(250, 2000)) +
		fmt.Sprintf("workload:\n  arrivals: {clients: %d}\n  mix: {update: %d%%, read: %d%%}\n  keys: {count: %d}\n  document: {size: 1000B}\n", pick(c, 1, 2), updates, 100-updates, c.among(1e5, 3e6))
}

// longByThemselves reports whether an incident's operations take just as long with every resource
// granted. Then they wait for nothing but their own work, and nothing stalls.
func (in incident) longByThemselves(ctx context.Context, base time.Duration, limit map[string]float64) (bool, error) {
	if in.everything == nil {
		return false, nil
	}
	latencies, _, err := felt(ctx, in.text, in.everything...)
	if err != nil {
		return false, err
	}
	return accuracy.Refutation(base, stalledIn(latencies, limit)) == accuracy.Right, nil
}

// saidLong reports whether a report mentions long operations of a few clients and no stall.
func saidLong(r *diagnose.Report) (f diagnose.Finding, yes bool) {
	for _, i := range r.Incidents {
		if i.Kind == diagnose.Stalled {
			return f, false
		}
	}
	for _, f := range r.Findings {
		if f.Rule == fewAndLong && f.Severity == diagnose.Info {
			return f, true
		}
	}
	return f, false
}
