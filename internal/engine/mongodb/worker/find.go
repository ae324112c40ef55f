//go:build linux

package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// variable selects the worker to use; workerName is its default name.
const (
	variable   = "PLIMSOLL_WIREDTIGER"
	workerName = "plimsoll-wiredtiger"
)

// errWorker explains how to get a worker.
var errWorker = errors.New("no " + workerName + " next to this program or on PATH, and " + variable +
	" is not set: make worker builds it " +
	"(Debian: apt-get install gcc libc6-dev libwiredtiger-dev)")

// findWorker finds the program that contains WiredTiger.
func findWorker() (string, error) {
	if path := os.Getenv(variable); path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", variable, err)
		}
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w: make worker builds one", variable, err)
		}
		return path, nil
	}

	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), workerName)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}

	path, err := exec.LookPath(workerName)
	if err != nil {
		return "", errWorker
	}

	return filepath.Abs(path)
}

// versions matches the version line that a worker prints.
var versions = regexp.MustCompile(`^plimsoll-wiredtiger, protocol (\d{1,6}), WiredTiger (\d{1,4}\.\d{1,4}\.\d{1,4})\n$`)

// askVersion runs a worker to find out its WiredTiger version.
func askVersion(path string) (string, error) {
	out, err := exec.CommandContext(context.Background(), path, "--version").Output()
	if err != nil {
		// A missing library is reported on stderr.
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
			return "", fmt.Errorf("%s --version: %w: %.200s", path, err, exit.Stderr)
		}
		return "", fmt.Errorf("%s --version: %w", path, err)
	}

	version := versions.FindSubmatch(out)
	if version == nil {
		return "", fmt.Errorf("%s is not %s: its version reads %.80q", path, workerName, out)
	}

	if p, err := strconv.Atoi(string(version[1])); err != nil || p != protocol {
		return "", fmt.Errorf("%s speaks protocol version %s, but this program needs version %d: run make worker", path,
			version[1], protocol)
	}

	return string(version[2]), nil
}

// majorOf returns the first number of a version.
func majorOf(version string) int {
	first, _, _ := strings.Cut(version, ".")
	major, _ := strconv.Atoi(first) // askVersion has checked it
	return major
}
