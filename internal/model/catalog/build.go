package catalog

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// Config is one volume of an order: for a stripe, each member. name selects its random streams and
// appears in errors. on is the instance type that it is attached to, nil if there is none; only
// local disks use it. The order must have passed Check.
func (o *Order) Config(name string, on *InstanceType) (volume.Config, error) {
	t, err := Type(o.Type)
	if err != nil {
		return volume.Config{}, err
	}

	limits := t.limits(t, o, on)
	cfg := volume.Config{
		Name: name, Size: o.Size,
		Sustained: limits.Sustained, ReadOnly: limits.ReadOnly, WriteOnly: limits.WriteOnly, Burst: limits.Burst,
		Operation: t.Operation.Value, Merge: t.Merge,
		Slots: o.slots(t),
	}

	// Instances define the size of their local disks, so an order need not.
	if cfg.Size == 0 && t.Local && on != nil {
		cfg.Size = on.Disk.Size
	}

	if t.Name == "custom" {
		cfg.Operation, cfg.Merge, cfg.FlushIsOperation = o.Operation, o.Merge, o.FlushIsOperation
	}

	if cfg.Latency, err = o.latencies(t); err != nil {
		return volume.Config{}, err
	}

	cfg.Initialization = o.initialization(t)
	if o.Episodes != nil {
		e := o.Episodes.episodes()
		cfg.Episodes = &e
	}

	return cfg, nil
}

// The number of requests that the block layer keeps in flight for one hardware queue, if an order does
// not specify it. No provider documents it, so it is assumed: look at
// /sys/block/<device>/queue/nr_requests. It matters a lot, because a log's write waits behind as many
// requests as fit.
const (
	rentedSlots = 32 // assumed for EBS' NVMe controllers
	// A local disk has 1,023 slots per core (the NVMe driver's io_queue_depth,
	// drivers/nvme/host/pci.c) and serves its queues in turn: a request does not wait behind all
	// requests of another queue. The volume model has one queue, so it gets a short one (assumed).
	localSlots = 64
)

// slots are an order's queue slots, or its type's. Custom volumes have no bound, as with the
// kernel's blk-throttle.
func (o *Order) slots(t *VolumeType) int {
	switch {
	case o.QueueSlots != 0 || t.Name == "custom":
		return o.QueueSlots
	case t.Local:
		return localSlots
	}
	return rentedSlots
}

// Limits returns an order's limits on a type of instance, or without one if it is nil: for one volume,
// even of a stripe.
func (o *Order) Limits(on *InstanceType) (Limits, error) {
	t, err := Type(o.Type)
	if err != nil {
		return Limits{}, err
	}
	return t.limits(t, o, on), nil
}

func (o *Order) latencies(t *VolumeType) (by [volume.Ops]volume.Latency, err error) {
	read, write := t.Read, t.Write
	if o.Latency != nil && o.Latency.Like != "" {
		like, err := Type(o.Latency.Like)
		if err != nil {
			return by, err
		}
		read, write = like.Read, like.Write
	}

	if read != nil && write != nil {
		by[volume.Read], by[volume.Write] = read.Latency(), write.Latency()
	}

	l := o.Latency
	if l == nil {
		return by, nil
	}

	// Scale applies to the type's distribution, before the order's own ones replace it.
	if l.Scale != 0 {
		for op := range by {
			by[op] = by[op].Scaled(l.Scale.ratio())
		}
	}

	for op, q := range [volume.Ops]*Quantiles{volume.Read: l.Read, volume.Write: l.Write,
		volume.Flush: l.Flush} {
		if q == nil {
			continue
		}
		if by[op], err = q.latency(); err != nil {
			return by, err
		}
	}

	return by, nil
}

func (q *Quantiles) latency() (volume.Latency, error) {
	var quantiles []volume.Quantile
	for _, p := range []struct {
		share units.Ratio
		takes *units.Duration
	}{{0, q.Min}, {.5, q.P50}, {.9, q.P90}, {.99, q.P99}, {.999, q.P999}, {1, q.Max}} {
		if p.takes != nil {
			quantiles = append(quantiles, volume.Quantile{Share: p.share, Takes: *p.takes})
		}
	}
	if len(quantiles) == 0 {
		return volume.Latency{}, errors.New("no quantile given: at least one of min, p50, p90, p99, p999, max")
	}
	return volume.NewLatency(quantiles...)
}

func (e *EpisodesOrder) episodes() volume.Episodes {
	cfg := volume.PlanetScaleEpisodes
	if e.Every != 0 {
		cfg.Every = e.Every
	}
	if e.Lasts != nil {
		cfg.Lasts = [2]units.Duration{e.Lasts.From, e.Lasts.To}
	}
	if e.Latency != nil {
		cfg.Latency = [2]units.Duration{e.Latency.From, e.Latency.To}
	}
	cfg.Reads = e.Reads
	return cfg
}

// Attachment is a volume's instance type, with the limits that the volume shares with the
// instance's other volumes. The zero Attachment has no instance and no limits.
type Attachment struct {
	Type   *InstanceType
	Shared *volume.Instance
	// Pool is the total limit of the machine's volumes of the type, if they share the type's limits and
	// Shared includes them; zero if the order's own limits apply.
	Pool volume.Rate
}

// CheckOn returns the problems of an order on a type of instance, in addition to those of Check.
func (o *Order) CheckOn(on *InstanceType) inputerror.List {
	var l inputerror.List
	i := slices.IndexFunc(types, func(t *VolumeType) bool { return t.Name == canonical(o.Type) })
	if i < 0 || on == nil {
		return nil // Check reports an unknown type
	}

	switch t := types[i]; {
	case t.Local && on.Disk.Count == 0:
		l.Addf("type", "%s has no local disks; types with a d in their name do, such as %s", on.Name, on.withDisks())
	case t.Local && o.Members() > on.Disk.Count:
		l = append(l, inputerror.Problem{
			Field: "stripe", Text: fmt.Sprintf("%d local disks: %s has %d", o.Members(), on.Name, on.Disk.Count),
			Limit: fmt.Sprint(on.Disk.Count), Source: on.Source.String(), Nearest: fmt.Sprint(on.Disk.Count),
		})
	case t.Local && o.Size > on.Disk.Size:
		l = append(l, inputerror.Problem{
			Field: "size", Text: fmt.Sprintf("%s is more than a local disk of %s has", o.Size.Exact(), on.Name),
			Limit: on.Disk.Size.Exact(), Source: on.Source.String(), Nearest: on.Disk.Size.Exact(),
		})
	case !t.Local && t.Provider == "aws" && on.Attachments > 0 && o.Members() > on.Attachments:
		l = append(l, inputerror.Problem{
			Field: "stripe", Text: fmt.Sprintf("%d volumes: %s can attach at most %d", o.Members(), on.Name,
				on.Attachments),
			Limit: fmt.Sprint(on.Attachments), Source: on.Source.String(), Nearest: fmt.Sprint(on.Attachments),
		})
	case t.Provider != "any" && t.Provider != on.Of():
		l.Addf("type", "%s is a volume of %s, but %s is a machine of %s", t.Name, t.Provider, on.Name, on.Of())
	case t.Provider == on.Of() && on.Refuses(t) != "":
		l = append(l, inputerror.Problem{
			Field: "type", Text: t.Name + ": " + on.Refuses(t), Limit: "one of " + on.diskTypes(),
			Source: seriesDocs.String(),
		})
	case o.Card >= max(on.Cards, 1):
		l.Addf("card", "card %d: %s has %d cards, counted from 0", o.Card, on.Name, max(on.Cards, 1))
	}

	return l
}

// Build makes the volume of an order, striped if the order says so. Its randomness depends on the
// seed and the name. The order is checked first.
func (o *Order) Build(name string, seed random.Seed, at Attachment) (volume.Volume, error) {
	// Callers may build an order that no scenario has checked.
	problems := append(o.Check(), o.CheckOn(at.Type)...)
	if err := problems.Under(name).Err(); err != nil {
		return nil, err
	}

	cfg, err := o.Config(name, at.Type)
	if err != nil {
		return nil, err
	}

	t, err := Type(o.Type)
	if err != nil {
		return nil, err
	}

	if at.Pool != (volume.Rate{}) {
		cfg.Sustained = at.Pool // one volume may use all
	}

	shared := at.Shared
	if t.Local {
		shared = nil // a local disk does not use the instance's EBS limits
	}

	if o.Members() == 1 {
		return volume.New(cfg, seed, shared)
	}

	unit := o.StripeUnit
	if unit == 0 {
		unit = stripeUnitDefault
	}

	return volume.StripeOf(o.Members(), unit, cfg, seed, shared)
}
