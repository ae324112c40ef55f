//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

// A Fitted is a volume that behaves like the measured device, for use in a scenario.
type Fitted struct {
	// YAML describes a custom volume, to be used under a volume's name.
	YAML string `json:"yaml"`
	// Ramps are the closed loops that it was derived from.
	Ramps []Ramp `json:"ramps"`
}

// A Ramp is a closed loop with this many requests in flight.
type Ramp struct {
	Does           string          `json:"does"`
	Depth          int             `json:"depth"`
	IOPS           float64         `json:"iops"`
	BytesPerSecond float64         `json:"bytes_per_second"`
	Latency        latency.Latency `json:"latency"`
}

// How a device is measured for a fit.
const (
	fitFile  = 512 * units.MiB
	fitStep  = time.Second
	fitBlock = 16 * units.KiB  // the size to which a volume's latency refers
	fitLarge = 256 * units.KiB // the largest size that EBS counts as one operation
	// fitGain is the speedup that a deeper queue must bring before an even deeper one is tried.
	fitGain = 1.05
	// fitSteps is the number of progress steps.
	fitSteps = 5
)

// fitDepths are the queue depths tried in sequence.
var fitDepths = []int{1, 4, 16, 64, 128}

// fit measures the device with nothing else running.
func (r *prober) fit(ctx context.Context) (*Fitted, error) {
	base := Stream{Name: "fit", Kind: RandomRead, Size: fitBlock, Depth: 1, Direct: true, File: r.opt.fitFile,
		Prewritten: true}
	r.report("writing the fit's file")
	file, err := r.dir.open(&base)
	if err == nil {
		err = lay(ctx, file, &base, r.opt.Seed.Stream("probe.lay.fit"), func(units.Size) {})
	}

	if err != nil {
		return nil, err
	}

	fitted := &Fitted{}
	order := &catalog.Order{Type: "custom", Latency: &catalog.LatencyOrder{}}

	var iops, bytes [2]float64
	for i, kind := range []Kind{RandomRead, RandomWrite} {
		for j, size := range []units.Size{fitBlock, fitLarge} {
			r.report(fmt.Sprintf("fitting %ss of %s", kind, size.String()))
			s := base
			s.Kind, s.Size = kind, size

			best, first, err := r.ramp(ctx, fitted, s)
			if err != nil {
				return nil, err
			}

			// Large requests determine the throughput, small ones the IOPS and the latency.
			if j == 1 {
				bytes[i] = best.BytesPerSecond
				continue
			}

			iops[i] = best.IOPS
			if kind == RandomRead {
				order.Latency.Read = quantilesOf(first)
			} else {
				order.Latency.Write = quantilesOf(first)
			}
		}
	}

	if order.Latency.Flush, err = r.flushes(ctx, fitted, base); err != nil {
		return nil, err
	}

	order.IOPS = catalog.IOPS(rounded(max(iops[0], iops[1])))
	order.Throughput = units.Throughput(rounded(max(bytes[0], bytes[1])))

	// The volume's overall limits are those of the faster direction.
	order.Read, order.Write = directions(iops, bytes)

	if err := order.Check().Err(); err != nil {
		return nil, fmt.Errorf("probe: cannot derive a volume from the measurements: %w", err)
	}

	text, err := yaml.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}

	fitted.YAML = string(text)
	return fitted, nil
}

// directions returns the limit of the slower direction, if it is slower than the other by at least
// a tenth.
func directions(iops, bytes [2]float64) (read, write *catalog.RateOrder) {
	of := func(i int) *catalog.RateOrder {
		var o catalog.RateOrder
		if iops[i] < 0.9*iops[1-i] {
			o.IOPS = catalog.IOPS(rounded(iops[i]))
		}
		if bytes[i] < 0.9*bytes[1-i] {
			o.Throughput = units.Throughput(rounded(bytes[i]))
		}
		if o == (catalog.RateOrder{}) {
			return nil
		}
		return &o
	}
	return of(0), of(1)
}

// ramp increases the queue depth until that no longer helps, and returns the fastest step and the
// first.
func (r *prober) ramp(ctx context.Context, f *Fitted, s Stream) (best, first *Ramp, err error) {
	for _, depth := range fitDepths {
		s.Depth = depth
		j, err := r.short(ctx, &s)
		if err != nil {
			return nil, nil, err
		}

		res := j.result()
		x := &Ramp{Does: s.String(), Depth: depth, IOPS: res.IOPS, BytesPerSecond: res.BytesPerSecond,
			Latency: res.Latency}
		f.Ramps = append(f.Ramps, *x)

		if first == nil {
			first = x
		}

		// Beyond saturation, a deeper queue only adds latency.
		if best != nil && x.IOPS < fitGain*best.IOPS {
			if x.IOPS > best.IOPS {
				best = x
			}
			return best, first, nil
		}

		best = x
	}
	return best, first, nil
}

// short briefly runs one closed loop.
func (r *prober) short(ctx context.Context, s *Stream) (*job, error) {
	j := &job{Stream: s, file: r.dir.files["fit"], clock: r.clock,
		chance: r.opt.Seed.Stream("probe." + s.String())}
	if err := j.prepare(); err != nil {
		return nil, err
	}

	defer undisturbed(1)()
	j.begin = r.clock.now()
	j.end = j.begin + int64(r.opt.fitStep)
	done := make(chan error, 1)
	go func() { done <- j.run(ctx) }()

	if err := <-done; err != nil {
		return nil, err
	}
	if j.all.Count() == 0 {
		return nil, errors.New("probe: no operation finished in time: the device is stuck or paused")
	}

	return j, nil
}

// flushes measures fdatasync after a write that is already on the device.
func (r *prober) flushes(ctx context.Context, f *Fitted, s Stream) (*catalog.Quantiles, error) {
	s.Kind, s.Size, s.Sync = RandomWrite, 4*units.KiB, 1
	j, err := r.short(ctx, &s)
	if err != nil {
		return nil, err
	}
	l := j.syncs.Latency()
	f.Ramps = append(f.Ramps, Ramp{Does: "fdatasync after " + s.String(), Depth: 1, IOPS: j.result().IOPS,
		Latency: l})
	return quantilesOf(&Ramp{Latency: l}), nil
}

func quantilesOf(x *Ramp) *catalog.Quantiles {
	us := func(seconds *float64) *units.Duration {
		d := units.Duration(max(math.Round(*seconds*1e6), 1)) * units.Duration(time.Microsecond)
		return &d
	}
	return &catalog.Quantiles{P50: us(x.Latency.P50Seconds), P99: us(x.Latency.P99Seconds),
		P999: us(x.Latency.P999Seconds), Max: us(x.Latency.MaxSeconds)}
}

// rounded rounds to three significant digits: the measurement is not more precise than that.
func rounded(x float64) int64 {
	if x < 1000 {
		return int64(math.Max(math.Round(x), 1))
	}
	scale := math.Pow(10, math.Floor(math.Log10(x))-2)
	return int64(math.Round(x/scale) * scale)
}
