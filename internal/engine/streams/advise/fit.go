// Package advise provides the advice for the I/O patterns of benchmark tools. With only a device's metrics,
// it fits the patterns to them; there are no settings to propose.
package advise

import (
	"math"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	model "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Fit fills in a device's I/O alone, if no database's metrics exist: reads and writes of one size
// at random places.
func Fit(fitting *fit.Fitting) error {
	dev := fitting.Device(0)
	reads, writes, ops := timeline.Mean(fitting.On(dev, rules.DiskReads)),
		timeline.Mean(fitting.On(dev, rules.DiskWrites)),
		fitting.On(dev, rules.DiskOps)
	if math.IsNaN(reads + writes) {
		return fitting.NoDevices()
	}

	if err := fitting.EnoughForRates(ops); err != nil {
		return err
	}

	key := "engine.streams."
	// A device reports no sizes of single requests, so the mean has to represent all of them.
	block := timeline.Mean(fitting.On(dev, rules.DiskMoved)) / timeline.Mean(ops)
	const sector = 512

	// Devices transfer whole sectors.
	block = max(sector, math.Round(block/sector)*sector)
	if math.IsNaN(block) {
		block = float64(model.Defaults().Block)
	}

	fitting.Add(key+"block", fit.Exactly(block), fit.Measured, "the mean size of the device's requests")
	fitting.Add(key+"random_writes", fit.Boolean(true), fit.Assumed,
		"where writes go and whether clients wait for them; assumed at random places, with each one waited for: add the database's own metrics to the device's").
		ToKnow("blktrace, or biosnoop")
	fitting.Add(key+"data", fit.Exactly(float64(model.Defaults().Data)), fit.Assumed,
		"the size of the area with the blocks; %s is assumed", model.Defaults().Data.Exact()).AsDefault()
	fitting.Data = float64(model.Defaults().Data)

	if err := fitting.Arrivals(fit.Load{
		Shares: []fit.Share{{Kind: "read", Rate: reads}, {Kind: "update", Rate: writes}}, Ops: ops,
		How:    fit.Measured,
		RateOf: "requests that the device completed", MixOf: "its reads and writes",
	}); err != nil {
		return err
	}

	fitting.Remark("no database metrics: this is the device's I/O alone (%s/s on %s), which does not show who waited for it",
		units.Number(timeline.Mean(ops)), dev)
	return nil
}
