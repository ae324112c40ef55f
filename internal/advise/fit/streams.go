package fit

import (
	"math"

	"plimsoll/internal/base/units"
	model "plimsoll/internal/engine/streams/model"
	"plimsoll/internal/record/timeline"
)

// streams enters a device's I/O alone, where no database tells of itself: reads and writes of one size in random places.
func (f *fitting) streams() error {
	dev := f.uses[0].device
	reads, writes, ops := timeline.Mean(f.on(dev, "disk_reads:rate")), timeline.Mean(f.on(dev, "disk_writes:rate")), f.on(dev, "disk_ops:rate")
	if math.IsNaN(reads + writes) {
		return noDevices
	}
	if err := f.enough(ops, shortest, "a minute, for rates that mean something"); err != nil {
		return err
	}
	key := "engine.streams."
	block := timeline.Mean(f.on(dev, "disk_moved:bytes")) / timeline.Mean(ops)
	const sector = 512
	block = max(sector, math.Round(block/sector)*sector)
	if math.IsNaN(block) {
		block = float64(model.Defaults().Block)
	}
	f.add(key+"block", exactly(block), Measured, "the mean size of the device's requests")
	f.add(key+"random_writes", boolean(true), Assumed, "where writes go and whether anybody waits for them; random places taken, each waited for: give the database's own metrics beside the device's").
		measure("blktrace, or biosnoop")
	f.add(key+"data", exactly(float64(model.Defaults().Data)), Assumed, "over how much the blocks lie; %s taken", model.Defaults().Data.Exact()).left()
	f.data = float64(model.Defaults().Data)
	if err := f.arrivals(load{
		shares: []share{{"read", reads}, {"update", writes}}, ops: ops, how: Measured,
		rateOf: "requests that the device completed", mixOf: "its reads and writes",
	}); err != nil {
		return err
	}
	f.remark("no database tells of itself: this is the device's I/O alone (%s/s on %s), which says nothing of who waited for it", units.Number(timeline.Mean(ops)), dev)
	return nil
}
