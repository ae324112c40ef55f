// Command queue runs one queue in two simulators for comparison: a volume of 3,000 IOPS with
// the latency of gp3, 2,700 requests a second that arrive at random, in Plimsoll and in SimPy, the
// simulation library of Python (https://simpy.readthedocs.io). It prints how many requests each
// gets through in a second on one core, and the quantiles of the requests' latencies, which must agree
// although the two programs share no code.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

const (
	iops = 3000
	load = 0.9 // meanGap repeats it
)

// quantiles are those of a latency with a tail like gp3's: share and seconds.
var quantiles = [][2]float64{{0, 327e-6}, {.05, 490e-6}, {.5, 650e-6}, {.9, 870e-6}, {.99, 1380e-6},
	{.999, 2600e-6}, {1, 5087e-6}}

//go:embed queue.py
var script string

// A result is one simulator's run.
type result struct {
	name     string
	Version  string  `json:"version"`
	Seconds  float64 `json:"seconds"`
	P50, P99 float64 // seconds; the names match JSON's in any case
}

func main() {
	requests := flag.Int("n", 1_000_000, "requests")
	python := flag.String("python", "python3", "the interpreter to run SimPy with")
	install := flag.Bool("install", false, "fetch SimPy with pip into a temporary folder for this run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *requests, *python, *install); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "queue:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, requests int, python string, install bool) error {
	if requests < 100 || requests > 100_000_000 {
		return fmt.Errorf("-n %d: from 100 to 100000000", requests)
	}

	runtime.GOMAXPROCS(1)
	results := []result{submits(requests), events(requests)}

	peer, err := simpy(ctx, requests, python, install)
	switch {
	case errors.Is(err, errMissing):
		fmt.Fprintln(os.Stderr, "queue: SimPy is left out:", err)
	case err != nil:
		return err
	default:
		results = append(results, peer)
	}

	return table(out, requests, results)
}

// table prints the runs, and how many times as fast each is as the last one, which is the peer if it ran.
func table(out io.Writer, requests int, results []result) error {
	last := results[len(results)-1].Seconds
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "simulator\trequests\tseconds\trequests/s\tratio\tp50 ms\tp99 ms\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.0f\t%.0f\t%.3f\t%.3f\t\n",
			r.name, requests, r.Seconds, float64(requests)/r.Seconds, last/r.Seconds, 1e3*r.P50, 1e3*r.P99)
	}
	return w.Flush()
}

// fresh makes the volume and its arrivals.
func fresh() (*volume.Queue, *random.Stream) {
	var q []volume.Quantile
	for _, x := range quantiles {
		q = append(q, volume.Quantile{Share: units.Ratio(x[0]), Takes: units.Duration(x[1] * 1e9)})
	}
	latency, err := volume.NewLatency(q...)
	if err != nil {
		panic(err) // a constant of this file
	}
	cfg := volume.Config{Name: "v", Sustained: volume.Rate{IOPS: iops}, Operation: 256 * units.KiB}
	cfg.Latency[volume.Write] = latency
	return volume.MustNew(cfg, 1, nil), random.Seed(1).Stream("arrivals")
}

const meanGap = time.Second / (iops * 9 / 10)

// submits is the queue alone: each request's completion is known when it is submitted.
func submits(n int) result {
	v, chance := fresh()
	took := make([]int64, n)
	began := time.Now()
	var now vtime.Instant
	for i := range took {
		c := v.Submit(now, volume.Request{Op: volume.Write, Offset: units.Size(i) * units.MiB, Length: 4096})
		took[i] = int64(c.Done - now)
		now = now.Add(chance.Exponential(meanGap))
	}
	return judged("Plimsoll, the queue", time.Since(began), took)
}

// driver schedules events as an engine does: one when a request arrives, another when it is done.
type driver struct {
	clock  vtime.Clock
	volume *volume.Queue
	chance *random.Stream
	took   []int64
	done   int
}

// Fire handles an arrival, or with arg > 0 the completion of the request submitted at arg-1.
func (d *driver) Fire(now vtime.Instant, arg uint64) {
	if arg > 0 {
		d.took[d.done] = int64(now) - int64(arg-1)
		d.done++
		return
	}
	c := d.volume.Submit(now, volume.Request{Op: volume.Write, Offset: units.Size(now) * units.MiB,
		Length: 4096})
	d.clock.At(c.Done, d, uint64(now)+1)
	if int(d.volume.State(now).Submitted[volume.Write]) < len(d.took) {
		d.clock.After(d.chance.Exponential(meanGap), d, 0)
	}
}

func events(n int) result {
	d := &driver{took: make([]int64, n)}
	d.volume, d.chance = fresh()
	began := time.Now()
	d.clock.At(0, d, 0)
	d.clock.Run(vtime.Never)
	return judged("Plimsoll, with events", time.Since(began), d.took)
}

func judged(name string, wall time.Duration, took []int64) result {
	slices.Sort(took)
	return result{name: name, Seconds: wall.Seconds(), P50: float64(took[len(took)/2]) / 1e9,
		P99: float64(took[len(took)*99/100]) / 1e9}
}

var errMissing = errors.New("not here")

// simpy runs the queue in SimPy.
func simpy(ctx context.Context, n int, python string, install bool) (result, error) {
	if _, err := exec.LookPath(python); err != nil {
		return result{}, fmt.Errorf("%s is %w", python, errMissing)
	}

	env := os.Environ()
	// Only on request: a benchmark should not fetch programs unasked.
	if install {
		dir, err := os.MkdirTemp("", "simpy")
		if err != nil {
			return result{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }() // only a temporary folder
		pip := exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet", "--target", dir, "simpy")
		pip.Stderr = os.Stderr
		if err := pip.Run(); err != nil {
			return result{}, fmt.Errorf("%w: pip: %w", errMissing, err)
		}
		env = append(env, "PYTHONPATH="+dir)
	}

	check := exec.CommandContext(ctx, python, "-c", "import simpy")
	check.Env = env
	if err := check.Run(); err != nil {
		return result{}, fmt.Errorf("the module simpy is %w: give -install to fetch it for this run", errMissing)
	}

	q, err := json.Marshal(quantiles)
	if err != nil {
		return result{}, err
	}

	c := exec.CommandContext(ctx, python, "-c", script, strconv.Itoa(n), strconv.Itoa(iops),
		fmt.Sprint(load), string(q))
	c.Env, c.Stderr = env, os.Stderr
	text, err := c.Output()
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", python, err)
	}

	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return result{}, fmt.Errorf("what %s said: %w", python, err)
	}

	r.name = "SimPy " + r.Version
	return r, nil
}
