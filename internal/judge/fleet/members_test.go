package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// The members of a replica set are separate databases of the fleet. They are compared nevertheless: a
// member whose journal takes 12 ms instead of 0.9 ms is reported, and another replica set's member is
// not.
func TestMembersAreCompared(t *testing.T) {
	mem := recording.NewMemory(recording.MemoryOptions{})
	const samples = 60
	add := func(instance, name string, each float64, more ...string) {
		b := &recording.Batch{Columns: []recording.Column{{Labels: labels.FromStrings(append(more, "__name__", name, "instance", instance)...)}}}
		for i := range samples {
			b.TimesMs = append(b.TimesMs, begin.Add(time.Duration(i)*10*time.Second).UnixMilli())
			b.Columns[0].Values = append(b.Columns[0].Values, float64(i)*each)
		}
		if err := mem.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	for _, m := range []struct {
		instance string
		syncS    float64
		members  []string
	}{
		{"a:9216", 0.0009, []string{"a:27017", "b:27017"}},
		{"b:9216", 0.012, []string{"a:27017", "b:27017"}},
		{"c:9216", 0.012, []string{"c:27017", "d:27017"}},
	} {
		for _, member := range m.members {
			add(m.instance, "mongodb_rs_members_state", 0, "member_idx", member)
		}

		add(m.instance, "mongodb_ss_opLatencies_ops", 1000, "op_type", "writes")
		add(m.instance, "mongodb_ss_opLatencies_latency", 1e6, "op_type", "writes")
		add(m.instance, "mongodb_ss_wt_cache_maximum_bytes_configured", 0)
		add(m.instance, "mongodb_ss_wt_log_log_sync_operations", 100)
		add(m.instance, "mongodb_ss_wt_log_log_sync_time_duration_usecs", 100*1e6*m.syncS)
		add(m.instance, "mongodb_ss_wt_log_log_bytes_of_payload_data", 1e6)
	}

	s, err := recording.Dial(t.Context(), serve(t, &answers{data: mem}), recording.RemoteOptions{From: begin, To: begin.Add(samples * 10 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}

	r, err := fleet.Run(t.Context(), s, fleet.Options{Pack: testkit.Pack(), By: []string{"instance"}})
	if err != nil {
		t.Fatal(err)
	}

	var slow []string
	for _, d := range r.Databases {
		if slices.ContainsFunc(d.Findings, func(f fleet.Finding) bool { return f.Rule == "disk/slow-member" }) {
			slow = append(slow, d.Name)
		}
	}

	if !slices.Equal(slow, []string{"b:9216"}) {
		t.Errorf("slow members: %q of %+v", slow, r.Databases)
	}
}
