//go:build linux

package trace_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/trace"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// throttlingFor is how long WiredTiger is traced: a checkpoint and more.
const throttlingFor = 40 * time.Second

// BenchmarkThrottling prints what the syncs of WiredTiger's log wait for, with and without the kernel's
// writeback throttling. It asserts nothing.
//
// \tsudo go test ./internal/trace -run '^$' -bench Throttling -benchtime 1x
func BenchmarkThrottling(b *testing.B) {
	if testing.Short() {
		b.Skip("a measurement of an otherwise idle machine")
	}
	for _, setting := range []string{"2000", "0"} {
		b.Run(setting, func(t *testing.B) {
			e := emulate(t, "xfs", 0)
			file := filepath.Join("/sys/block", filepath.Base(e.device), "queue/wbt_lat_usec")
			if err := os.WriteFile(file, []byte(setting), 0o644); err != nil {
				t.Fatal(err)
			}

			choice, slower := wiredTigerOn(false)(t, e)
			r, err := trace.Run(t.Context(), trace.Options{Target: choice, For: throttlingFor, Slower: slower, Keep: true})
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

// flagNames describes a request by its operation and flags.
func flagNames(q *events.Request) string {
	out := []string{map[uint32]string{events.OpRead: "read", events.OpWrite: "write", events.OpFlush: "flush"}[q.Op()]}
	for _, f := range []struct {
		bit  uint32
		name string
	}{
		{events.FlagSync, "SYNC"}, {events.FlagMeta, "META"}, {events.FlagIdle, "IDLE"}, {events.FlagFUA, "FUA"},
		{events.FlagPreflush, "PREFLUSH"}, {events.FlagBackground, "BACKGROUND"},
	} {
		if q.Flags&f.bit != 0 {
			out = append(out, f.name)
		}
	}
	return strings.Join(out, " ")
}
