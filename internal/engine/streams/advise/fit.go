// Package advise is what Plimsoll advises of the shapes of I/O that benchmark tools make.
package advise

import (
	"math"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	model "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Fit enters a device's I/O alone, where no database tells of itself: reads and writes of one size
// in random places.
func Fit(f *fit.Fitting) error {
	dev := f.Device(0)
	reads, writes, ops := timeline.Mean(f.On(dev, rules.DiskReads)), timeline.Mean(f.On(dev, rules.DiskWrites)),
		f.On(dev, rules.DiskOps)
	if math.IsNaN(reads + writes) {
		return f.NoDevices()
	}

	if err := f.EnoughForRates(ops); err != nil {
		return err
	}

	key := "engine.streams."
	block := timeline.Mean(f.On(dev, rules.DiskMoved)) / timeline.Mean(ops)
	const sector = 512

	block = max(sector, math.Round(block/sector)*sector)
	if math.IsNaN(block) {
		block = float64(model.Defaults().Block)
	}

	f.Add(key+"block", fit.Exactly(block), fit.Measured, "the mean size of the device's requests")
	f.Add(key+"random_writes", fit.Boolean(true), fit.Assumed,
		"where writes go and whether anybody waits for them; random places taken, each waited for: give the database's own metrics beside the device's").
		ToKnow("blktrace, or biosnoop")
	f.Add(key+"data", fit.Exactly(float64(model.Defaults().Data)), fit.Assumed,
		"over how much the blocks lie; %s taken", model.Defaults().Data.Exact()).AsDefault()
	f.Data = float64(model.Defaults().Data)

	if err := f.Arrivals(fit.Load{
		Shares: []fit.Share{{Kind: "read", Rate: reads}, {Kind: "update", Rate: writes}}, Ops: ops,
		How:    fit.Measured,
		RateOf: "requests that the device completed", MixOf: "its reads and writes",
	}); err != nil {
		return err
	}

	f.Remark("no database tells of itself: this is the device's I/O alone (%s/s on %s), which says nothing of who waited for it",
		units.Number(timeline.Mean(ops)), dev)
	return nil
}
