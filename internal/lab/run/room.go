//go:build linux

package run

import (
	"context"
	"fmt"

	"plimsoll/internal/base/units"
)

// keepBytes is the memory that images leave to the machine (lab/disk leaves as much).
const keepBytes = units.GiB

// fits tells before anything is mounted whether the images, if they are in memory, can hold the
// documents of the beginning. What a run adds, and what an engine writes beside its documents,
// shows only when it does.
func (x *experiment) fits() error {
	if x.opt.Images != "" {
		return nil
	}
	available, err := meminfo("MemAvailable")
	if err != nil {
		return err
	}
	w := x.sc.Workloads()
	documents := 0.0
	for k := range x.sc.MemberCount() {
		// An image has its volume's size at most. (Streams have no documents but files, which fit
		// their volumes.)
		volumes := 0.0
		for _, v := range x.sc.VolumesOf(k + 1) {
			volumes += float64(v.Value.Size)
		}
		documents += min(float64(w.Documents())*float64(w.DocumentSize()), volumes)
	}
	if most := float64(max(units.Size(available)-keepBytes, 0)); documents > most {
		return fmt.Errorf("%s of documents do not fit into the volumes' images, which are in memory: only %s fit. "+
			"Keep the images in files (--images DIR), or make fewer documents (--set workload.keys.count=...)", units.Bytes(documents), units.Bytes(most))
	}
	return nil
}

// roomless says of an error whether it came because an image was full: engines tell it in words of
// their own.
func (x *experiment) roomless(ctx context.Context, err error) error {
	all, asked := x.m.status(context.WithoutCancel(ctx))
	if asked != nil || x.opt.Images != "" {
		return err
	}
	for _, s := range all.Volumes {
		if s.Refused > 0 {
			return fmt.Errorf("volume %s: its image is in memory, which ran out after %s: keep it in a file (--images DIR), or use fewer documents (%w)",
				s.Name, units.Bytes(float64(s.Resident)), err)
		}
	}
	return err
}
