package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/present/document"
	"plimsoll/internal/record/address"
)

// processesMax bounds the processes that are looked at for a running watch.
const processesMax = 100_000

// A runningWatch is a running `plimsoll watch`; folder is its ring, "" if it keeps none.
type runningWatch struct {
	pid     int
	folder  string
	sources []string
}

// runningWatches finds the running `plimsoll watch` processes in a /proc. Without one, as on macOS, it finds
// none.
func (a *app) runningWatches(proc string) []runningWatch {
	entries, err := os.ReadDir(proc)
	if err != nil || len(entries) > processesMax {
		return nil
	}

	var out []runningWatch
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}

		line, err := os.ReadFile(filepath.Join(proc, entry.Name(), "cmdline"))
		if err != nil {
			continue
		}

		words := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
		if len(words) < 3 || !strings.HasPrefix(filepath.Base(words[0]), "plimsoll") || words[1] != "watch" {
			continue
		}

		// The process's own flags are parsed, so that its folder is found whatever their order is.
		cmd := newWatchCommand(a)
		if cmd.ParseFlags(words[2:]) != nil {
			continue // of another version
		}

		folder := cmd.Flag("out").Value.String()
		if folder != "" && !filepath.IsAbs(folder) {
			cwd, err := os.Readlink(filepath.Join(proc, entry.Name(), "cwd"))
			if err != nil {
				continue // another user's
			}
			folder = filepath.Join(cwd, folder)
		}
		out = append(out, runningWatch{pid, folder, cmd.Flags().Args()})
	}
	return out
}

// suggestRing says which command diagnoses the ring of a watch that already samples all of the live sources.
func (a *app) suggestRing(proc string, live []string) {
	for _, ring := range a.runningWatches(proc) {
		if len(live) == 0 || ring.folder == "" || !ring.samples(live) {
			continue
		}

		// A ring that this user cannot read is useless.
		f, err := os.Open(ring.folder)
		if err != nil {
			continue
		}
		_ = f.Close()

		fmt.Fprintf(a.stderr, "plimsoll: note: plimsoll watch (process %d) has been sampling this; without waiting:\nhint: plimsoll diagnose %s --from -15m\n",
			ring.pid, shellword.Quote(printable(ring.folder)))
		return
	}
}

// samples reports whether a watch samples all of some sources. Its own ring counts as one.
func (w *runningWatch) samples(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool {
		if path, err := filepath.Abs(arg); err == nil && path == w.folder {
			return false
		}
		return !slices.ContainsFunc(w.sources, func(has string) bool { return sameServer(arg, has) })
	})
}

// watching returns the running watch that samples these sources, one with a ring if there is a choice; nil if
// there is none.
func (a *app) watching(proc string, args []string) *document.Watching {
	var found *document.Watching
	for _, w := range a.runningWatches(proc) {
		if len(args) == 0 || !w.samples(args) {
			continue
		}
		found = &document.Watching{PID: w.pid, Ring: w.folder != "", Command: "plimsoll top"}
		for _, source := range w.sources {
			found.Command += " " + shellword.Quote(printable(address.Public(source)))
		}
		if w.folder != "" {
			found.Command = "plimsoll diagnose " + shellword.Quote(printable(w.folder)) + " --from -15m"
			break
		}
	}
	return found
}

// sameServer reports whether two addresses belong to one server, whatever the users and the databases.
func sameServer(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && x.Scheme == y.Scheme && x.Host == y.Host && x.Host != ""
}
