//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// Options configure how to run a profile.
type Options struct {
	Path string
	Seed random.Seed
	// Yes allows files that take more than half of the free space.
	Yes bool
	// Fit also measures the device with short ramps, to derive a volume for a scenario.
	Fit bool
	// Progress, if not nil, receives the current step and how many steps of the total are done.
	Progress func(what string, done, total int)

	fitStep time.Duration // duration of a ramp's closed loop; 0: one second
	fitFile units.Size    // 0: 512 MiB
}

// A FullError means that the files would use too much of the free space.
type FullError struct {
	Path       string
	Need, Free units.Size
	Never      bool // there is not enough space at all
}

func (e *FullError) Error() string {
	return fmt.Sprintf("probe: the files need %s, but %s has %s free", e.Need.String(), e.Path, e.Free.String())
}

// Hint says what to do.
func (e *FullError) Hint() string {
	if e.Never {
		return "use a profile with smaller files (file: 256MiB), which measures the same unless the device has a cache"
	}
	return "use --yes if nothing else needs the space in the meantime; the files are gone when the probe ends"
}

// A prober is a run in progress.
type prober struct {
	p     *Profile
	opt   Options
	dir   *folder
	clock clock
	step  int
	steps int
}

// Run runs a probe. When the context ends, it stops within one operation of each stream. It leaves
// nothing behind.
func Run(ctx context.Context, profile *Profile, opt Options) (*Result, error) {
	if err := profile.Check().Err(); err != nil {
		return nil, fmt.Errorf("probe: profile %s: %w", profile.Name, err)
	}

	place, err := Look(opt.Path)
	if err != nil {
		return nil, err
	}

	need := profile.Need()
	if opt.fitStep == 0 {
		opt.fitStep = fitStep
	}

	if opt.fitFile == 0 {
		opt.fitFile = fitFile
	}

	if opt.Fit {
		need += opt.fitFile
	}

	// Filling a disk can bring down a database on it, so this needs consent from half of the free
	// space on.
	if full := need > place.Free; full || need > place.Free/2 && !opt.Yes {
		return nil, &FullError{place.Parent, need, place.Free, full}
	}

	dir := newFolder(place.Parent)
	started := time.Now()
	r := &prober{p: profile, opt: opt, dir: dir, clock: clock{started}}
	stages := profile.stages()
	r.steps = len(stages) + 1

	if opt.Fit {
		r.steps += fitSteps
	}

	result, err := r.all(ctx, place, stages)
	if err = errors.Join(err, dir.close()); err != nil {
		return nil, err
	}

	result.Started, result.Seconds = started.UTC(), time.Since(started).Seconds()
	return result, nil
}

func (r *prober) report(what string) {
	if r.opt.Progress != nil {
		r.opt.Progress(what, r.step, r.steps)
	}
	r.step++
}

func (r *prober) all(ctx context.Context, place Place, stages []stage) (*Result, error) {
	profile := r.p
	result := &Result{Version: ResultVersion, Profile: profile.Name, About: profile.About,
		Measured: profile.Measured,
		Path:     place.Parent, Seed: r.opt.Seed, Stages: []StageResult{}}
	r.report("writing files")

	for i := range profile.Streams {
		s := &profile.Streams[i]
		file, err := r.dir.open(s)
		if err == nil {
			err = lay(ctx, file, s, r.opt.Seed.Stream("probe.lay."+s.Name), func(units.Size) {})
		}
		if err != nil {
			return nil, err
		}
	}

	// The limits are counted from here on, because writing the files is not part of the
	// measurement.
	device, before := deviceOf(place.Parent)
	result.Device = device

	for _, st := range stages {
		r.report("measuring " + st.name)
		sr, err := r.stage(ctx, st)
		if err != nil {
			return nil, err
		}
		result.Stages = append(result.Stages, *sr)
	}

	if r.opt.Fit {
		fitted, err := r.fit(ctx)
		if err != nil {
			return nil, err
		}
		result.Fitted = fitted
	}

	result.Limits = limitsSince(place.Parent, before)
	result.judge(profile)
	return result, nil
}

// A stage is a set of streams that run together.
type stage struct {
	name    string
	streams []*Stream
}

// stages returns the measured stream alone, with each companion, and with all of them.
func (p *Profile) stages() []stage {
	m := p.stream(p.Measured)
	out := []stage{{"alone", []*Stream{m}}}
	all := []*Stream{m}
	for i := range p.Streams {
		if s := &p.Streams[i]; s != m {
			out = append(out, stage{"with " + s.Name, []*Stream{m, s}})
			all = append(all, s)
		}
	}
	if len(all) > 2 {
		out = append(out, stage{"with all", all})
	}
	return out
}

// stage runs the streams of a stage concurrently.
func (r *prober) stage(ctx context.Context, st stage) (*StageResult, error) {
	jobs := make([]*job, 0, len(st.streams))
	for _, s := range st.streams {
		j := &job{
			Stream: s, file: r.dir.files[s.Name], clock: r.clock, keep: s.Name == r.p.Measured,
			chance: r.opt.Seed.Stream("probe." + st.name + "." + s.Name),
		}
		if err := j.prepare(); err != nil {
			for _, before := range jobs {
				err = errors.Join(err, before.release())
			}
			return nil, err
		}
		jobs = append(jobs, j)
	}

	// Everything that allocates much is done; from here on, only I/O matters.
	defer undisturbed(len(jobs))()
	begin := r.clock.now() + int64(10*time.Millisecond) // time for the threads to start

	g, gctx := errgroup.WithContext(ctx)
	for _, j := range jobs {
		j.begin, j.end = begin, begin+int64(r.p.Stage)
		g.Go(func() error { return j.run(gctx) })
	}

	if err := g.Wait(); err != nil {
		return nil, err
	}

	// Write back dirty pages now, so that this does not disturb the next stage.
	for _, j := range jobs {
		if err := r.drain(j.file, j.Stream); err != nil {
			return nil, err
		}
	}

	out := &StageResult{Name: st.name, Seconds: r.p.Stage.Std().Seconds()}
	for _, j := range jobs {
		out.Streams = append(out.Streams, j.result())
	}

	for _, j := range jobs[1:] {
		out.While = append(out.While, while(jobs[0].samples, j))
	}

	return out, nil
}

func (r *prober) drain(f *os.File, s *Stream) error {
	if s.Direct || !s.Writes() {
		return nil
	}
	return syncFile(f)
}

// result returns what a stream did.
func (j *job) result() StreamResult {
	var on int64
	for _, i := range j.on {
		on += i.to - i.from
	}

	r := StreamResult{
		Name: j.Name, Does: j.String(), Latency: j.all.Latency(), Service: j.served.Latency(), Missed: j.missed,
		Bytes:     j.bytes,
		OnSeconds: float64(on) / 1e9,
	}

	if on > 0 {
		// Missed operations have a latency but were never done.
		r.IOPS = float64(j.all.Count()-j.missed) / r.OnSeconds
		r.BytesPerSecond = float64(j.bytes) / r.OnSeconds
	}

	if j.syncs.Count() > 0 {
		l := j.syncs.Latency()
		r.Fdatasync = &l
	}

	if sum := j.waited + j.moved + j.synced; sum > 0 {
		r.Share = &Share{Waited: float64(j.waited) / float64(sum), Moved: float64(j.moved) / float64(sum),
			Synced: float64(j.synced) / float64(sum)}
	}

	return r
}

// while splits the measured stream's operations by whether they were due or in flight while a
// companion was on.
func while(samples []sample, companion *job) WhileResult {
	var on, off latency.Distribution
	at := 0
	for _, s := range samples {
		// Samples are roughly sorted by due time, so this takes few steps.
		for at < len(companion.on) && companion.on[at].to < s.due {
			at++
		}

		for at > 0 && companion.on[at-1].to >= s.due {
			at--
		}

		if at < len(companion.on) && companion.on[at].from <= s.due+s.took {
			on.Add(s.took)
		} else {
			off.Add(s.took)
		}
	}

	return WhileResult{Companion: companion.Name, On: on.Latency(), Off: off.Latency()}
}
