package diagnose_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// sums writes a volume in CloudWatch's sums over periodS seconds, published every everyS seconds and
// sampled more often than that, with all metrics or some.
func (w *written) sums(id string, periodS, everyS float64, of func(s float64) did, some ...string) *written {
	for name, x := range map[string]func(d did) float64{
		"read_ops_sum": func(d did) float64 { return periodS * d.reads }, "write_ops_sum": func(d did) float64 { return periodS * d.writes },
		"read_bytes_sum": func(d did) float64 { return periodS * d.reads * d.readKiB * 1024 }, "write_bytes_sum": func(d did) float64 { return periodS * d.writes * d.writeKiB * 1024 },
		"total_read_time_sum": func(d did) float64 { return periodS * d.reads * d.readS }, "total_write_time_sum": func(d did) float64 { return periodS * d.writes * d.writeS },
		"idle_time_sum": func(d did) float64 { return periodS * (1 - d.busy) }, "queue_length_average": did.queue,
	} {
		if len(some) == 0 || slices.Contains(some, name) {
			w.gauge(func(s float64) float64 { return x(of(math.Floor(s/everyS) * everyS)) }, "aws_ebs_volume_"+name, "volume_id", id)
		}
	}
	return w
}

// A volume at 3,000 IOPS for three of eight hours is found at 3,000, whatever period its sums cover and
// however often they are exported and scraped.
func TestSumsOfAnyTime(t *testing.T) {
	const id = "vol-0a1b2c3d4e5f60718"
	of := until(3*3600, capped(4200, 3000, 0.0008, 16, 0.3), capped(1400, 3000, 0.0008, 16, 0.3))

	counts := []string{"read_ops_sum", "write_ops_sum", "read_bytes_sum", "write_bytes_sum"}
	for name, x := range map[string]struct {
		step          time.Duration
		period, every float64
		some          []string
	}{
		"a minute's, scraped each 15 s":               {15 * time.Second, 60, 60, nil},
		"a minute's, exported each five":              {5 * time.Minute, 60, 300, nil},
		"a minute's, exported each five, each minute": {time.Minute, 60, 300, nil},
		"five minutes', scraped each minute":          {time.Minute, 300, 300, nil},
		"five minutes', new each minute":              {time.Minute, 300, 60, nil},
		"five minutes', without the queue":            {time.Minute, 300, 60, append([]string{"idle_time_sum"}, counts...)},
		"five minutes', counts only":                  {time.Minute, 300, 300, counts},
	} {
		t.Run(name, func(t *testing.T) {
			r := forms(t, x.step, 8*time.Hour).sums(id, x.period, x.every, of, x.some...).diagnose(diagnose.Options{})
			most := 0.0
			for _, h := range r.Headroom {
				if h.Resource == "volume_iops" && h.Most != nil {
					most = h.Most.Value
				}
			}

			if !(math.Abs(most/3000-1) < 0.06) {
				t.Errorf("at most %v IOPS, not 3,000", most)
			}

			if x.some == nil && (foundAnywhere(r, "disk/iops-capped") == nil || strings.HasPrefix(r.Verdict, "No stall")) {
				t.Errorf("the cap is not named: %s", r.Verdict)
			}
		})
	}
}
