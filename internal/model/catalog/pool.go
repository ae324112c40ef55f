package catalog

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// Persistent Disk's limits apply per machine. They depend on the total size of its volumes of a type,
// with one baseline, and are split evenly only if all volumes need everything (Google Cloud
// documentation, "About Persistent Disk performance", 2025; gcpdiag's limits_per_gb.json names the
// baseline "per VM", 2024-08).

// pooled returns the limits of a volume whose type has a pool: an equal part of the limits that the
// volume, or its stripe, has on a machine without others.
func pooled(t *VolumeType, o *Order, _ *InstanceType) Limits {
	return Limits{Sustained: part(t.pool(o.gib()*int64(o.Members())), o.Members())}
}

// part divides a rate into n equal parts.
func part(r volume.Rate, n int) volume.Rate {
	return volume.Rate{IOPS: r.IOPS / units.Frequency(n), Throughput: r.Throughput / units.Throughput(n)}
}

// Pool returns the limits that all of a machine's volumes of the type share, for any machine; false
// if each volume has separate limits. orders are all volumes of the machine.
func (t *VolumeType) Pool(orders []*Order) (volume.Rate, bool) {
	if t.pool == nil {
		return volume.Rate{}, false
	}
	gib := int64(0)
	for _, o := range orders {
		if canonical(o.Type) == t.Name {
			gib += o.gib() * int64(o.Members())
		}
	}
	return t.pool(gib), true
}

// LimitsAmong is like Limits, for a volume on a machine that has others too. orders are all of them. A
// volume may use all of a shared limit by itself.
func (o *Order) LimitsAmong(orders []*Order, on *InstanceType) (Limits, error) {
	t, err := Type(o.Type)
	if err != nil {
		return Limits{}, err
	}
	l := t.limits(t, o, on)
	if pool, ok := t.Pool(orders); ok {
		l.Sustained = part(pool, o.Members())
	}
	return l, nil
}

// Attachments attach the volumes of one machine to it, in the given order. on is nil if
// its type is not known.
func Attachments(on *InstanceType, orders []*Order) ([]Attachment, error) {
	out := make([]Attachment, len(orders))
	shares := map[string]*volume.Instance{}
	for k, o := range orders {
		out[k].Type = on
		share, ok := shareAmong(on, o, orders)
		if !ok {
			continue
		}

		// Volumes with the same share must get the same instance, or each would have the full
		// limit.
		if shares[share.Name] == nil {
			name := "the machine"
			if on != nil {
				name = on.Name
			}
			shared, err := volume.NewInstance(share.Config(name))
			if err != nil {
				return nil, err
			}
			shares[share.Name] = shared
		}

		out[k].Shared = shares[share.Name]
		if t, err := Type(o.Type); err == nil {
			out[k].Pool, _ = t.Pool(orders)
		}
	}

	return out, nil
}

// shareAmong is ShareOf for a volume among all volumes of its machine. It includes the pool of its
// type, if that covers several volumes and is lower.
func shareAmong(on *InstanceType, o *Order, orders []*Order) (Share, bool) {
	share, ok := Share{}, false
	if on != nil {
		share, ok = on.ShareOf(o)
	}

	t, err := Type(o.Type)
	if err != nil {
		return share, ok
	}

	pool, has := t.Pool(orders)
	devices := 0
	for _, other := range orders {
		if canonical(other.Type) == t.Name {
			devices += other.Members()
		}
	}

	if !has || devices < 2 { // one device has its own limits
		return share, ok
	}
	if !ok {
		return Share{t.Name, pool, pool}, true
	}

	share.Name = t.Name
	share.Baseline, share.Maximum = share.Baseline.Lower(pool), share.Maximum.Lower(pool)
	return share, true
}
