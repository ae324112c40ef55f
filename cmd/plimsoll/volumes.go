package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/spf13/cobra"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/engine"
	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/headroom/offers"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/record/recording"
)

// volumeOptions are the flags that map volumes to devices and describe the volumes.
type volumeOptions struct {
	devices []string
	known   []string
	machine string

	// bought accepts IOPS and throughput as well as the type and the size.
	bought bool

	// Set by Validate.
	volumes map[string]string        // devices by volume
	orders  map[string]catalog.Order // by volume
}

// AddFlags adds --device and --volume; of says in the help what they are for, if the verb has other
// arguments too.
func (o *volumeOptions) AddFlags(cmd *cobra.Command, of string) {
	f := cmd.Flags()
	what := "a volume's known type, size or both: data=gp3,500GiB (repeatable)"
	if o.bought {
		what = "a volume's known type, size, IOPS and throughput: data=gp2,50GiB or nvme1n1=gp3,500GiB,6000IOPS,250MiB/s (repeatable)"
	}

	f.StringArrayVar(&o.devices, "device", nil,
		of+"the device of a volume, if the I/O does not show it: journal=nvme2n1 (repeatable)")
	f.StringArrayVar(&o.known, "volume", nil, of+what)

	if o.bought {
		f.StringVar(
			&o.machine, "instance",
			"", "the EC2 instance type, whose EBS limits all volumes share: m6i.xlarge (default: what the sources report)")
	}
}

// Validate reads the flags.
func (o *volumeOptions) Validate() error {
	o.volumes = map[string]string{}
	for _, d := range o.devices {
		volume, device, ok := strings.Cut(d, "=")
		if !ok || volume == "" || device == "" {
			return usagef("for example --device data=nvme1n1", "--device %q: want VOLUME=DEVICE", d)
		}
		if o.volumes[volume] != "" {
			return usagef("a volume is one device; for a stripe, give the device on top (dm-0, md0)",
				"--device %s: %s is already given", d, volume)
		}
		o.volumes[volume] = strings.TrimPrefix(device, "/dev/")
	}

	for _, text := range o.known {
		volume, words, ok := strings.Cut(text, "=")
		if !ok || volume == "" || words == "" {
			return usagef("for example --volume data=gp3,500GiB",
				"--volume %q: want VOLUME=TYPE,SIZE, or one of the two", text)
		}
		for word := range strings.SplitSeq(words, ",") {
			if err := o.know(volume, strings.TrimSpace(word)); err != nil {
				return usagef("for example --volume data=gp3,500GiB; plimsoll catalog list names the types",
					"--volume %s: %v", text, err)
			}
		}
	}

	return nil
}

// know accepts a volume's type or size, or a limit that was bought.
func (o *volumeOptions) know(volume, word string) error {
	if o.orders == nil {
		o.orders = map[string]catalog.Order{}
	}
	// A copy: a word that is rejected must leave the order as it was.
	before := o.orders[volume]
	order := before
	if err := order.Take(word); err != nil {
		return err
	}
	if !o.bought && (order.IOPS != before.IOPS || order.Throughput != before.Throughput) {
		return fmt.Errorf("%q is neither a type nor a size", word)
	}
	o.orders[volume] = order
	return nil
}

// limits returns the known limits for headroom, from the catalogue with its imports.
func (o *volumeOptions) limits(a *app) (headroom.Known, error) {
	if len(o.orders) > 0 || o.machine != "" {
		if err := a.loadCatalog(); err != nil {
			return headroom.Known{}, err
		}
	}

	for _, name := range slices.Sorted(maps.Keys(o.orders)) {
		if err := checkOrder(name, o.orders[name]); err != nil {
			return headroom.Known{}, err
		}
	}

	if o.machine != "" {
		if _, err := a.catalog.Instance(o.machine); err != nil {
			return headroom.Known{}, usagef("for example --instance m6i.xlarge", "--instance %s: %v", o.machine, err)
		}
	}

	return offers.Known(a.catalog, o.orders, o.volumes, o.machine), nil
}

// checkOrder rejects figures that a volume type does not offer. A type or a size that was not given is not a
// mistake.
func checkOrder(name string, order catalog.Order) error {
	if order.Type == "" {
		return nil
	}
	problems := order.Check()
	if order.Size == 0 {
		// The size may still come from the sources.
		problems = slices.DeleteFunc(problems, func(p inputerror.Problem) bool { return p.Field == "size" })
	}
	if err := problems.Err(); err != nil {
		return usagef("plimsoll catalog show "+order.Type+" has its limits", "--volume %s: %v", name, err)
	}
	return nil
}

// apply checks that each volume and device that was given occurs in the sources: otherwise the flag would
// have no effect, or would apply to another device.
func (o *volumeOptions) apply(ctx context.Context, readers []recording.Reader) error {
	if len(o.orders) == 0 && len(o.volumes) == 0 {
		return nil
	}

	// Sources of clouds name a volume by other labels than device.
	values, devices := map[string]bool{}, map[string]bool{}
	for _, r := range readers {
		series, err := r.ListSeries(ctx, pack().Wants)
		if err != nil {
			return err
		}

		for _, l := range series {
			l.Range(func(l labels.Label) {
				if l.Name != labels.MetricName {
					values[l.Value] = true
				}
				if l.Name == "device" {
					devices[l.Value] = true
				}
			})
		}
	}

	has := "the sources have no devices"
	if len(devices) > 0 {
		has = "the sources' devices are " + strings.Join(slices.Sorted(maps.Keys(devices)), ", ")
	}

	for _, volume := range slices.Sorted(maps.Keys(o.volumes)) {
		if device := o.volumes[volume]; !values[device] {
			return usagef(has, "--device %s=%s: there is no device %q", volume, device, device)
		}
	}

	// A database's volume is valid even if no series names it: rules map roles to devices later.
	roles := map[string]bool{}
	for _, e := range engine.All() {
		for _, r := range e.Traits.Volumes {
			roles[r.Name] = true
		}
	}

	for _, name := range slices.Sorted(maps.Keys(o.orders)) {
		if !values[name] && !roles[name] && o.volumes[name] == "" {
			return usagef(has+", and databases' volumes are called "+
				strings.Join(slices.Sorted(maps.Keys(roles)), ", "),
				"--volume %s: there is no device or volume %q", name, name)
		}
	}

	return nil
}
