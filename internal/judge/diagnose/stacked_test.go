package diagnose_test

import (
	"os"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// A layer that passes on the I/O of the disk below is judged through that disk. Its queue is longer,
// because the disk merges its requests, but it is not a second saturated device.
func TestLayerIsJudgedThroughTheDisk(t *testing.T) {
	for _, layer := range []string{"dm-0", "md0", "loop0", "mpatha"} {
		t.Run(layer, func(t *testing.T) {
			serial := func(s float64) did {
				each := 0.008 * jitter(s, "each", 0.15)
				return did{writes: 0.99 / each, writeKiB: 9.4, writeS: each, busy: 0.99}
			}

			merged := func(s float64) did {
				d := serial(s)
				return did{writes: 2.35 * d.writes, writeKiB: 4, writeS: 1.1 * d.writeS, busy: 0.99}
			}

			alone := forms(t, time.Second, 4*time.Minute).node("sda", serial).diagnose(diagnose.Options{})
			both := forms(t, time.Second, 4*time.Minute).node("sda", serial).node(layer, merged).diagnose(diagnose.Options{})
			show(t, layer, both)

			if foundAnywhere(both, "disk/iops-capped") != nil || foundAnywhere(both, "disk/throughput-capped") != nil {
				t.Error("a cap is claimed")
			}

			if foundAnywhere(alone, "disk/latency-bound") == nil || foundAnywhere(both, "disk/latency-bound") == nil {
				t.Error("with the layer it is no longer bound by the latency")
			}

			if alone.Verdict != both.Verdict {
				t.Errorf("with the layer: %s\nwithout: %s", both.Verdict, alone.Verdict)
			}
		})
	}
}

// The same with a real log.
func TestLayersOfTheField(t *testing.T) {
	const folder = "../../../../shared/data/field/layers/"
	for _, name := range []string{"rand1.log", "sda_only1.log"} {
		if _, err := os.Stat(folder + name); err != nil {
			t.Skip("no field data next to the checkout")
		}

		input, err := recognise.For(engine.All().Sources()).Open(t.Context(), folder+name, recognise.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}

		mem := recording.NewMemory(recording.MemoryOptions{})
		if err := input.Source.Read(t.Context(), mem, source.Options{}); err != nil {
			t.Fatal(err)
		}

		r, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
		if err != nil {
			t.Fatal(err)
		}

		show(t, name, r)
		if foundAnywhere(r, "disk/iops-capped") != nil || foundAnywhere(r, "disk/latency-bound") == nil {
			t.Errorf("%s: %s", name, r.Verdict)
		}
	}
}
