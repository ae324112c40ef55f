//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	etcd "plimsoll/internal/engine/etcd/model"
)

// EnvBinary is the environment variable that selects an etcd other than the one on PATH.
const EnvBinary = "PLIMSOLL_ETCD"

// errMissing explains how to get etcd.
var errMissing = errors.New("etcd is not installed: apt-get install etcd-server, or give a binary in " +
	EnvBinary + " (make etcd builds a current one)")

// find returns etcd's path: the one that the user gives, the environment's, or the one on PATH.
func find(asked string) (string, error) {
	env := os.Getenv(EnvBinary)
	path, err := exec.LookPath(cmp.Or(asked, env, "etcd"))
	switch {
	case err == nil:
		return filepath.Abs(path) // members run in other folders
	case asked != "":
		return "", fmt.Errorf("cannot find etcd: %w", err)
	case env != "":
		return "", fmt.Errorf("%s: %w", EnvBinary, err)
	}
	return "", errMissing
}

// version runs a binary to get its version: "3.4.23".
func version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	return parseVersion(string(out))
}

// catchUpFlag returns the version's flag for the entries kept behind a snapshot (embed/config.go of
// 3.7.3, 3.6.16 and 3.5.21); "" means that the number is compiled in.
func catchUpFlag(version string) string {
	switch major, minor := release(version); {
	case major > 3 || major == 3 && minor >= 6:
		return "snapshot-catchup-entries"
	case major == 3 && minor == 5:
		return "experimental-snapshot-catchup-entries"
	}
	return ""
}

// release returns the major and minor version, 3 and 7 for "3.7.3"; 0 if it is not a version.
func release(version string) (major, minor int) {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, _ = strconv.Atoi(first)
	minor, _ = strconv.Atoi(second)
	return major, minor
}

func parseVersion(text string) (string, error) {
	first, _, _ := strings.Cut(text, "\n")
	v, ok := strings.CutPrefix(strings.TrimSpace(first), "etcd Version: ")
	if !ok || v == "" {
		return "", fmt.Errorf("this is not etcd: its version is %.60q", first)
	}
	return v, nil
}

// A place is where a member runs: folders and loopback ports.
type place struct {
	name         string // "m1"
	data, wal    string // wal is "" if the log is inside data
	client, peer int
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// flags returns a member's command line. The flags are the same in 3.4 to 3.7 except for one, which
// is omitted if the scenario uses the default.
func flags(cfg *etcd.Config, version string, all []place, k int) []string {
	var cluster []string
	for _, p := range all {
		cluster = append(cluster, p.name+"=http://"+address(p.peer))
	}

	p := all[k]
	client, peer := "http://"+address(p.client), "http://"+address(p.peer)
	out := []string{
		"--name=" + p.name,
		"--data-dir=" + p.data,
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + strings.Join(cluster, ","),
		"--initial-cluster-token=plimsoll",
		"--heartbeat-interval=" + milliseconds(cfg.Heartbeat),
		"--election-timeout=" + milliseconds(cfg.Election),
		"--snapshot-count=" + strconv.Itoa(cfg.SnapshotCount),
		"--backend-batch-interval=" + cfg.BatchInterval.Std().String(),
		"--backend-batch-limit=" + strconv.Itoa(cfg.BatchLimit),
		"--quota-backend-bytes=" + strconv.FormatInt(int64(cfg.Quota), 10),
		"--logger=zap",
	}

	if p.wal != "" {
		out = append(out, "--wal-dir="+p.wal)
	}

	// 3.5 has it as an experimental flag, and older versions lack it.
	if name := catchUpFlag(version); name != "" && cfg.CatchUp != etcd.Defaults().CatchUp {
		out = append(out, "--"+name+"="+strconv.Itoa(cfg.CatchUp))
	}

	return out
}

// milliseconds rounds to etcd's unit, but never to 0.
func milliseconds(d units.Duration) string {
	return strconv.FormatInt(max(d.Std().Round(time.Millisecond).Milliseconds(), 1), 10)
}

// compiledIn lists the settings of the scenario that this etcd cannot follow.
func compiledIn(cfg *etcd.Config, version string) []string {
	var out []string
	fixed := etcd.Defaults()
	differs := func(setting, wanted, actual string) {
		if wanted != actual {
			out = append(out,
				fmt.Sprintf("engine.etcd.%s is %s in the scenario, but etcd has it compiled in: it is %s here",
					setting, wanted, actual))
		}
	}

	differs("wal_segment", cfg.Segment.Exact(), fixed.Segment.Exact())
	differs("max_message", cfg.MaxMessage.Exact(), fixed.MaxMessage.Exact())
	differs("max_inflight", strconv.Itoa(cfg.MaxInflight), strconv.Itoa(fixed.MaxInflight))

	if catchUpFlag(version) == "" {
		differs("catchup_entries", strconv.Itoa(cfg.CatchUp), strconv.Itoa(fixed.CatchUp))
	}

	return out
}
