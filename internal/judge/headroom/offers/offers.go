// Package offers provides the performance of the catalogue's volumes and machines as limits for
// headroom. It is a separate package so that judging recordings does not link the catalogue.
package offers

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
)

// Known converts what the user specified: orders by the name of a device or a volume, the devices
// of volumes, and the machine's type, "" if it was not given.
func Known(catalogue *catalog.Catalog, orders map[string]catalog.Order, devices map[string]string,
	instance string) headroom.Known {
	known := headroom.Known{Volumes: map[string]headroom.Offer{}, Devices: devices,
		Machine: func(kind string) (rules.Machine, bool) {
			if kind == "" {
				kind = instance
			}
			return machine(catalogue, kind)
		}, Described: described}
	for name, o := range orders {
		known.Volumes[name] = func(sizeBytes int64) (headroom.Volume,
			error) {
			return volume(name, o, units.Size(sizeBytes))
		}
	}
	return known
}

// described parses a source's description of a volume.
func described(text string) (headroom.Offer, error) {
	o, err := catalog.ParseOrder(text)
	if err != nil {
		return nil, err
	}
	return func(sizeBytes int64) (headroom.Volume, error) { return volume(o.Type, o, units.Size(sizeBytes)) },
		nil
}

// volume returns the performance of an order. An order without a size has the size of its device.
func volume(name string, o catalog.Order, size units.Size) (headroom.Volume, error) {
	if o.Size == 0 {
		o.Size = size
	}

	kind, err := catalog.Type(o.Type)
	if err != nil {
		return headroom.Volume{}, fmt.Errorf("unknown volume type: specify it with --volume %s=TYPE,SIZE",
			name)
	}

	text := kind.Name
	if o.Size > 0 {
		text += fmt.Sprintf(" of %s GiB", units.Number(float64(o.Size)/float64(units.GiB)))
	}

	if err := o.Check().Err(); err != nil {
		return headroom.Volume{}, fmt.Errorf("%s: %w", text, err)
	}

	cfg, err := o.Config(name, nil)
	if err != nil {
		return headroom.Volume{}, err
	}

	out := headroom.Volume{Text: text, Operation: float64(cfg.Operation),
		Sustained: rules.Rate{IOPS: float64(cfg.Sustained.IOPS), Throughput: float64(cfg.Sustained.Throughput)}}
	out.Burst = out.Sustained

	// An operation of an HDD volume is 1 MiB, so its IOPS are MiB/s and its credits are bytes.
	if out.Bytes = cfg.Operation >= units.MiB; out.Bytes {
		out.Operation, out.Sustained.IOPS, out.Burst.IOPS = 0, 0, 0
	}

	if b := cfg.Burst; b != nil {
		out.Credits = float64(b.Capacity)
		if out.Bytes {
			out.Credits *= float64(units.MiB)
		} else if b.At.IOPS > 0 {
			out.Burst.IOPS = float64(b.At.IOPS)
		}
		if b.At.Throughput > 0 {
			out.Burst.Throughput = float64(b.At.Throughput)
		}
		out.ByteCredits = float64(b.BytesCapacity)
	}

	return out, nil
}

// machine returns the performance of an instance type; false if unknown.
func machine(catalogue *catalog.Catalog, kind string) (rules.Machine, bool) {
	i, err := catalogue.Instance(kind)
	if kind == "" || err != nil || !i.HasEBS {
		return rules.Machine{}, false
	}
	return rules.Machine{Name: i.Name,
		Baseline: rules.Rate{IOPS: float64(i.Baseline.IOPS), Throughput: float64(i.Baseline.Throughput)},
		Maximum:  rules.Rate{IOPS: float64(i.Maximum.IOPS), Throughput: float64(i.Maximum.Throughput)},
	}, true
}
