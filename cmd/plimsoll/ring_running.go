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
)

// processesMax bounds the processes that are looked at for a running watch.
const processesMax = 100_000

// A runningRing is the ring of a running `plimsoll watch`.
type runningRing struct {
	pid     int
	folder  string
	sources []string
}

// runningRings finds the running `plimsoll watch` processes that keep a ring, in a /proc. Without one, as on
// macOS, it finds none.
func (a *app) runningRings(proc string) []runningRing {
	entries, err := os.ReadDir(proc)
	if err != nil || len(entries) > processesMax {
		return nil
	}

	var out []runningRing
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}

		line, err := os.ReadFile(filepath.Join(proc, e.Name(), "cmdline"))
		if err != nil {
			continue
		}

		words := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
		if len(words) < 4 || !strings.HasPrefix(filepath.Base(words[0]), "plimsoll") || words[1] != "watch" {
			continue
		}

		// The process's own flags are parsed, so that its folder is found whatever their order is.
		cmd := newWatchCommand(a)
		if cmd.ParseFlags(words[2:]) != nil {
			continue // of another version
		}

		folder := cmd.Flag("out").Value.String()
		if folder == "" {
			continue
		}
		if !filepath.IsAbs(folder) {
			cwd, err := os.Readlink(filepath.Join(proc, e.Name(), "cwd"))
			if err != nil {
				continue // another user's
			}
			folder = filepath.Join(cwd, folder)
		}
		out = append(out, runningRing{pid, folder, cmd.Flags().Args()})
	}
	return out
}

// suggestRing says which command diagnoses the ring of a watch that already samples all of the live sources.
func (a *app) suggestRing(proc string, live []string) {
	for _, ring := range a.runningRings(proc) {
		if len(live) == 0 || slices.ContainsFunc(live, func(arg string) bool {
			return !slices.ContainsFunc(ring.sources, func(has string) bool { return sameServer(arg, has) })
		}) {
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

// sameServer reports whether two addresses belong to one server, whatever the users and the databases.
func sameServer(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && x.Scheme == y.Scheme && x.Host == y.Host && x.Host != ""
}
