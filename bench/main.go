// Command bench measures how fast plimsoll/internal/engine/mongodb/ftdc reads MongoDB's diagnostic.data,
// and in how much memory, compared with the ceiling (inflating alone) and with any other program that
// reads it.
//
// Each case runs in a separate process, so that its peak memory is its own, and the cases
// take turns, so that other load on the machine affects all of them. README.md has the command and explains
// the table.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A result is one run of one case.
type result struct {
	Seconds float64 `json:"seconds"`     // on the wall
	CPU     float64 `json:"cpu_seconds"` // of all cores
	PeakKB  int64   `json:"peak_kb"`     // largest resident size
	Samples int64   `json:"samples"`
	Values  int64   `json:"values"` // number of samples passed on, of all metrics
}

// A job is a case on a number of cores.
type job struct {
	name  string
	cores int
	peer  string // command of another program, "" for ours

	runs []result
	err  error
}

type peers []string

func (p *peers) String() string     { return strings.Join(*p, ", ") }
func (p *peers) Set(v string) error { *p = append(*p, v); return nil }

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	mb := flags.Int("mb", 64, "compressed megabytes to generate if no path is given")
	rounds := flags.Int("rounds", 5, "how often each case runs")
	one := flags.String("case", "", "run this case alone in this process and print its result as JSON")
	cores := flags.Int("cores", 1, "cores for -case")
	var others peers
	flags.Var(
		&others,
		"peer", "NAME=COMMAND: another program; {} in COMMAND is the path, each file's in turn with {file} (repeatable)")

	if err := flags.Parse(args); err != nil {
		return err
	}

	// Each case runs in its own process, so that its peak memory is its own.
	if *one != "" {
		r, err := measure(*one, flags.Arg(0), *cores)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(r)
	}

	path := flags.Arg(0)
	if path == "" {
		dir, err := os.MkdirTemp("", "ftdc-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := generate(dir, int64(*mb)<<20); err != nil {
			return err
		}
		path = dir
	}

	jobs := []*job{
		{name: "inflate-std", cores: 1}, {name: "inflate", cores: 1},
		{name: "ours", cores: 1}, {name: "ours-150", cores: 1},
	}

	if runtime.NumCPU() > 1 {
		jobs = append(jobs, &job{name: "ours", cores: 2}, &job{name: "ours-150", cores: 2})
	}

	for _, p := range others {
		name, command, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("-peer %q: want NAME=COMMAND", p)
		}
		jobs = append(jobs, &job{name: name, cores: runtime.NumCPU(), peer: command})
	}

	size, err := sizeOf(path)
	if err != nil {
		return err
	}

	// Rounds outside, cases inside: a slow phase of the machine then affects all cases alike.
	for range *rounds {
		for _, j := range jobs {
			if j.err == nil {
				j.err = j.run(path)
			}
		}
	}

	return table(w, jobs, size)
}

// run runs a case once, in a separate process.
func (j *job) run(path string) error {
	if j.peer != "" {
		return j.runPeer(path)
	}

	self, err := os.Executable()
	if err != nil {
		return err
	}

	cmd := exec.Command(self, "-case", j.name, "-cores", fmt.Sprint(j.cores), path)
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", j.cores))
	cmd.Stderr = os.Stderr

	out, err := cmd.Output()
	if err != nil {
		return err
	}

	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}

	j.runs = append(j.runs, r)
	return nil
}

// runPeer runs another program on the path, or on each file in it. Its time includes starting it, some
// milliseconds; its memory is the peak over all runs.
func (j *job) runPeer(path string) error {
	targets := []string{path}
	if strings.Contains(j.peer, "{file}") {
		var err error
		if targets, err = filesOf(path); err != nil {
			return err
		}
	}

	var sum result
	for _, t := range targets {
		var argv []string
		for _, a := range strings.Fields(j.peer) {
			// Arguments are split at spaces without a shell, whose start would be measured too.
			argv = append(argv, strings.NewReplacer("{file}", t, "{}", t).Replace(a))
		}

		cmd := exec.Command(argv[0], argv[1:]...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		from := time.Now()

		if err := cmd.Run(); err != nil {
			text, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
			return fmt.Errorf("%w: %s", err, text)
		}

		sum.Seconds += time.Since(from).Seconds()
		sum.CPU += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		// The largest process, not the sum: the files run one after another.
		sum.PeakKB = max(sum.PeakKB, peakOf(cmd.ProcessState))
	}

	j.runs = append(j.runs, sum)
	return nil
}

// table prints the results.
func table(w io.Writer, jobs []*job, size int64) error {
	fmt.Fprintf(w, "%.1f MB compressed; MB/s of the best run, the others medians\n\n", float64(size)/1e6)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\tcores\tMB/s\tMB/cpu-s\tof inflate\tpeak MB\tsamples\tvalues\t")
	perCPU := func(j *job) float64 {
		return float64(size) / 1e6 / median(j.runs, func(r result) float64 { return r.CPU })
	}

	// Inflating alone bounds what any reader of the format can reach.
	inflate := 0.0
	for _, j := range jobs {
		if j.name == "inflate" && j.err == nil && len(j.runs) > 0 {
			inflate = perCPU(j)
		}
	}

	var failed error
	for _, j := range jobs {
		if j.err != nil || len(j.runs) == 0 {
			fmt.Fprintf(t, "%s\t%d\tfailed: %v\t\n", j.name, j.cores, j.err)
			// A peer that is not installed or fails must not fail our own measurement.
			if j.peer == "" {
				failed = errors.Join(failed, j.err)
			}
			continue
		}

		cpu := perCPU(j)
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.0f %%\t%.1f\t%d\t%d\t\n", j.name, j.cores,
			float64(size)/1e6/least(j.runs), cpu, 100*cpu/inflate,
			median(j.runs, func(r result) float64 { return float64(r.PeakKB) })/1000, j.runs[0].Samples,
			j.runs[0].Values)
	}

	return errors.Join(t.Flush(), failed)
}

// least is the time of the best run: other load on the machine can only slow a run down.
func least(runs []result) float64 {
	return slices.MinFunc(runs, func(a, b result) int { return cmp.Compare(a.Seconds, b.Seconds) }).Seconds
}

func median(runs []result, of func(result) float64) float64 {
	s := make([]float64, len(runs))
	for i, r := range runs {
		s[i] = of(r)
	}
	slices.SortFunc(s, cmp.Compare)
	return s[len(s)/2]
}

// filesOf lists the files of a path that is a file or a folder.
func filesOf(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (p == path || strings.HasPrefix(d.Name(), "metrics.")) {
			files = append(files, p)
		}
		return err
	})
	return files, err
}

func sizeOf(path string) (n int64, err error) {
	files, err := filesOf(path)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, nil
}
