package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// Bounds of the annual failure rate of EBS volumes other than io2 (Amazon EBS product page,
// "Durability": 99.8 to 99.9 %).
const failuresLow, failuresHigh = 0.001, 0.002

// modified describes the restrictions on modifying a volume in use (EC2 API, ModifyVolume, 2026;
// Google Cloud documentation, "Modify a Hyperdisk", 2025; Azure documentation, "Deploy a Premium
// SSD v2", 2025).
var modified = map[string]string{
	"aws":   "it is slower while AWS optimises it, and it can be changed again only after that, at most four times in 24 hours",
	"gcp":   "its IOPS and throughput can be changed once every four hours",
	"azure": "its IOPS and throughput can be changed four times in 24 hours",
}

// risks returns the risks of a layout itself and those of its changes.
func (p *planner) risks(sc *scenario.Scenario, simulated *outcome) []Risk {
	out := []Risk{}
	add := func(kind, format string, args ...any) {
		out = append(out, Risk{kind, fmt.Sprintf(format, args...)})
	}

	moved, restores := false, []string(nil)
	for _, named := range sc.Volumes {
		if named.Value.Local() {
			add(
				"ephemeral", "volumes.%s is a local disk of the instance: it is empty after the instance stops, fails or moves to other hardware (a reboot keeps the data). %s",
				named.Name, p.ephemeral(sc, named.Name))
		}

		provider := ""
		if t, err := catalog.Type(named.Value.Type); err == nil {
			provider = t.Provider
		}

		if n := named.Value.Members(); n > 1 && provider != "aws" {
			add("stripe", "volumes.%s: losing one of %d volumes loses everything", named.Name, n)
		} else if n > 1 {
			add(
				"stripe", "volumes.%s: losing one of %d volumes loses everything: %.1f to %.1f %% a year instead of %.1f to %.1f %%",
				named.Name, n,
				100*lostOf(n, failuresLow), 100*lostOf(n, failuresHigh), 100*failuresLow, 100*failuresHigh)
		}

		was := p.now.Volumes.Get(named.Name)
		if was == nil && !named.Value.Local() {
			add(
				"snapshots", "volumes.%s is a separate volume: a snapshot of one volume is no longer a backup; use multi-volume snapshots or the engine's backups",
				named.Name)
		}

		if p.opt.New { // nothing is moved or modified
			continue
		}

		if named.Value.Local() { // the engine resyncs it; it is not restored from a snapshot
			continue
		}

		if text := restored(&named.Value); text != "" && !slices.Contains(restores, text) {
			restores = append(restores, text)
		}

		// Data moves if the stripe width or the file system changes, or the type outside AWS: only
		// EBS changes the type of a volume in place.
		moved = moved || was != nil && (was.Members() != named.Value.Members() ||
			was.Type != named.Value.Type && (was.Local() || provider != "aws")) ||
			sc.Host.FileSystem != p.now.Host.FileSystem
		if was != nil && was.Type != named.Value.Type && !moved ||
			was != nil && (was.IOPS != named.Value.IOPS || was.Throughput != named.Value.Throughput) && !moved {
			add("modification", "volumes.%s is modified in use: %s", named.Name, modified[provider])
		}
	}

	if moved {
		text := "data moves to a new volume: after a restore from a snapshot, the first access to each block is slow"
		if len(restores) > 0 {
			text += " until all data is loaded: " + strings.Join(restores, "; ") +
				". from_snapshot: true simulates it"
		}
		add("first-touch", "%s", text)
	}

	for _, c := range credits(sc, simulated) {
		add("credits", "%s", c.Text)
	}

	if m := sc.MemberCount(); m < p.now.MemberCount() && !p.opt.New {
		add("members", "%d members instead of %d", m, p.now.MemberCount())
	}

	return out
}

// restored describes how long a volume restored from a snapshot takes to load all its data; "" if
// unknown.
func restored(o *catalog.Order) string {
	t, err := catalog.Type(o.Type)
	if err != nil || o.Size == 0 {
		return ""
	}
	touched, ordered, ok := t.Initialized(o.Size)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s of %s take %s if every block is read once, %s with a volume initialization rate of 300 MiB/s (AWS charges for it; the catalogue has no price)",
		o.Size.Exact(), t.Name, units.Seconds(float64(touched)/1e9), units.Seconds(float64(ordered)/1e9))
}

// ephemeral describes what losing a local disk means for a deployment.
func (p *planner) ephemeral(sc *scenario.Scenario, volume string) string {
	if e := p.opt.profileOf(sc); e.Loss != nil {
		if text := e.Loss(volume); text != "" {
			return text
		}
	}
	if volume == "data" {
		return "The scenario shows no other copy: losing the disk loses the database, except for backups"
	}
	return "The scenario shows no other copy: losing the disk loses all writes acknowledged since the last checkpoint"
}

// lostOf returns the probability that at least one of n volumes is lost.
func lostOf(n int, each float64) float64 { return 1 - math.Pow(1-each, float64(n)) }

// credits returns the credit buckets of a layout's volumes and instance that its load empties.
func credits(sc *scenario.Scenario, o *outcome) []simulate.Credit {
	if o == nil || o.result == nil {
		return nil
	}
	return simulate.CreditsOf(sc, o.result)
}
