//go:build linux

package trace_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/trace"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

var throttling = flag.Duration("throttling", 0, "trace WiredTiger for this long with and without writeback throttling, and print what its log queued behind")

// TestThrottling prints what the syncs of WiredTiger's log wait for, with and without the kernel's
// writeback throttling. It asserts nothing.
//
// \tsudo go test ./internal/trace -run Throttling -throttling 40s -v
func TestThrottling(t *testing.T) {
	if *throttling == 0 {
		t.Skip("a measurement, not a test: -throttling 40s")
	}
	for _, setting := range []string{"2000", "0"} {
		t.Run(setting, func(t *testing.T) {
			e := emulate(t, "xfs", 0)
			file := filepath.Join("/sys/block", filepath.Base(e.device), "queue/wbt_lat_usec")
			if err := os.WriteFile(file, []byte(setting), 0o644); err != nil {
				t.Fatal(err)
			}

			choice, slower := wiredTigerOn(false)(t, e)
			r, err := trace.Run(t.Context(), trace.Options{Target: choice, For: *throttling, Slower: slower, Keep: true})
			if err != nil {
				t.Fatal(err)
			}

			fmt.Printf("wbt_lat_usec %s: %d of %v took over %v, %v in total, longest %v\n", setting, r.Report.Slow, r.Report.Header.Totals.Counts[events.Fdatasync].Calls,
				slower, r.Report.SlowTime.Round(time.Millisecond), longest(r.Report).Round(time.Millisecond))
			for _, b := range r.Report.Behind[:min(12, len(r.Report.Behind))] {
				fmt.Printf("  %5.1f %%  %-10s %-20s %s of %s (%s): %d requests, %d KiB each, in %d calls\n", 100*b.Share, b.Place, b.Stage,
					b.Culprit.Comm, filepath.Base(b.Culprit.File), b.Culprit.Why, b.Requests, b.Bytes/1024/int64(max(b.Requests, 1)), b.Calls)
			}

			printAhead(r)
		})
	}
}

func longest(r *chain.Report) (most time.Duration) {
	for i := range r.Worst {
		most = max(most, r.Worst[i].Took())
	}
	return most
}

// printAhead prints whose requests were at the disk during the slow calls, with their flags.
func printAhead(r *trace.Result) {
	type kind struct {
		who   string
		flags string
	}

	count, bytes := map[kind]int{}, map[kind]int64{}
	for i := range r.Events.Requests {
		q := &r.Events.Requests[i]
		if q.Op() != events.OpWrite {
			continue
		}
		k := kind{who: r.Window.Label(q), flags: flagNames(q)}
		count[k]++
		bytes[k] += int64(q.Bytes)
	}

	all := slices.SortedFunc(maps.Keys(count), func(a, b kind) int { return cmp.Compare(bytes[b], bytes[a]) })
	for _, k := range all[:min(8, len(all))] {
		fmt.Printf("  %6d requests of %4d KiB: %s, %s\n", count[k], bytes[k]/1024/int64(count[k]), k.flags, k.who)
	}
}
