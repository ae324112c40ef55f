package simulate

import (
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// sumVolumes reads the counters of each device over the measured time.
func sumVolumes(s *system, p *sampler, span float64) []VolumeResult {
	out := []VolumeResult{}
	for i, d := range s.devices {
		t := &p.volumes[i]
		n := func(counter int) float64 { return p.delta(t.at + counter) }
		state := d.Volume().State(p.clock.Now())
		v := VolumeResult{
			Name: d.Name(), ReadIOPS: n(diskReads) / span, WriteIOPS: n(diskWrites) / span,
			IOPSMax: t.iopsMax, BytesPerSecMax: t.bytesMax,
			BytesPerSec: (n(diskReadBytes) + n(diskWrittenBytes)) / span,
			Busy:        min(n(diskBusy)/span, 1), BusyMax: t.busyMax, QueueMean: n(diskQueued) / span,
			AwaitSeconds:      per(n(diskReadTime)+n(diskWriteTime), n(diskReads)+n(diskWrites)),
			ReadAwaitSeconds:  per(n(diskReadTime), n(diskReads)),
			WriteAwaitSeconds: per(n(diskWriteTime), n(diskWrites)),
			HeldBy:            []HeldBy{},
		}

		v.IOPS = v.ReadIOPS + v.WriteIOPS
		if t.busyMax == 0 {
			v.BusyMax = v.Busy // the run lasted less than ten seconds
		}

		// HeldBy counts from the start of the run, so the warm-up's share is subtracted.
		for l := range volume.Limit(volume.Limits) {
			if held := state.HeldBy[l] - t.before.HeldBy[l]; held > 0 {
				v.HeldBy = append(v.HeldBy, HeldBy{Name: l.String(), Seconds: float64(held) / 1e9})
			}
		}

		if state.HasCredits {
			v.Credits = known(float64(state.Credits))
		}

		out = append(out, v)
	}

	return out
}

func per(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	return known(a / b)
}

// bill adds up prices. The sum stays null if one is not known.
func bill(r *Result, sc *scenario.Scenario) {
	volumes, instances, ok := sc.Monthly()
	if !ok.Volumes {
		return
	}
	// The price of the volumes is useful even if the instance's is unknown.
	r.MonthlyVolumesUSD = known(float64(volumes))
	if ok.Instances {
		r.MonthlyUSD = known(float64(volumes + instances))
	}
}

// plots are the series over the measured time.
func plots(s *system, m *meter, p *sampler, cycles []database.Cycle) *Series {
	cells := len(m.series.Cells)
	out := &Series{EngineDirty: make([]*float64, cells), HostDirty: make([]*float64, cells),
		Busy: map[string][]*float64{}}
	for i := range cells {
		if p.dirtyAt >= 0 {
			out.EngineDirty[i] = known(p.engineDirty[i])
		}
		out.HostDirty[i] = known(p.hostDirty[i])
	}

	for i, d := range s.devices {
		busy := make([]*float64, cells)
		for k, x := range p.volumes[i].series {
			busy[k] = known(x)
		}
		out.Busy[d.Name()] = busy
	}

	out.latencies(m)
	out.checkpoints(m, cycles)
	return out
}

func (s *Series) latencies(m *meter) {
	cells := m.series.Cells
	s.StepSeconds = m.series.Step.Seconds()
	s.Writes = cells
	s.WriteP99, s.WriteMax = make([]*float64, len(cells)), make([]*float64, len(cells))
	for i := range cells {
		if c := &cells[i]; c.Count > 0 {
			s.WriteP99[i] = known(float64(c.Quantile(990)) / 1e9)
			s.WriteMax[i] = known(float64(c.Max) / 1e9)
		}
	}
}

func (s *Series) checkpoints(m *meter, cycles []database.Cycle) {
	s.Checkpoints = [][2]float64{}
	for _, c := range cycles[:min(len(cycles), cyclesShown)] {
		from, to := max(c.Start, m.from)-m.from, min(c.End, m.end)-m.from
		s.Checkpoints = append(s.Checkpoints, [2]float64{float64(from) / 1e9, float64(to) / 1e9})
	}
}
