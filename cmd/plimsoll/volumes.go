package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/headroom/offers"
	"plimsoll/internal/model/catalog"
)

// volumeOptions are the flags that say which devices volumes are, and what is known of them.
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
	f.StringArrayVar(&o.devices, "device", nil, of+"the device of a volume, if the I/O does not show it: journal=nvme2n1 (repeatable)")
	f.StringArrayVar(&o.known, "volume", nil, of+what)
	complete(cmd, "device")
	complete(cmd, "volume")
	if o.bought {
		f.StringVar(&o.machine, "instance", "", "the EC2 instance type, whose EBS limits all volumes share: m6i.xlarge (default: what the sources report)")
		complete(cmd, "instance")
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
			return usagef("a volume is one device; for a stripe, give the device on top (dm-0, md0)", "--device %s: %s is already given", d, volume)
		}
		o.volumes[volume] = strings.TrimPrefix(device, "/dev/")
	}
	for _, text := range o.known {
		volume, words, ok := strings.Cut(text, "=")
		if !ok || volume == "" || words == "" {
			return usagef("for example --volume data=gp3,500GiB", "--volume %q: want VOLUME=TYPE,SIZE, or one of the two", text)
		}
		for word := range strings.SplitSeq(words, ",") {
			if err := o.know(volume, strings.TrimSpace(word)); err != nil {
				return usagef("for example --volume data=gp3,500GiB; plimsoll catalog list names the types", "--volume %s: %v", text, err)
			}
		}
	}
	return nil
}

// know accepts a volume's type or size, or what was bought of it.
func (o *volumeOptions) know(volume, word string) error {
	if o.orders == nil {
		o.orders = map[string]catalog.Order{}
	}
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

// limits are what is known, for headroom. They are those of the catalogue with its imports.
func (o *volumeOptions) limits(a *app) (headroom.Known, error) {
	if len(o.orders) > 0 || o.machine != "" {
		if err := a.useCatalog(); err != nil {
			return headroom.Known{}, err
		}
	}
	if o.machine != "" {
		if _, err := catalog.Instance(o.machine); err != nil {
			return headroom.Known{}, usagef("for example --instance m6i.xlarge", "--instance %s: %v", o.machine, err)
		}
	}
	return offers.Known(o.orders, o.volumes, o.machine), nil
}
