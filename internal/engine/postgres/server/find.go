//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EnvBin is the environment variable that selects the folder of PostgreSQL's programs.
const EnvBin = "PLIMSOLL_PG_BIN"

// debianFolders are Debian's folders of PostgreSQL's programs, one for each major version.
const debianFolders = "/usr/lib/postgresql/*/bin"

var errMissing = errors.New(
	"PostgreSQL's server is not installed: apt-get install postgresql, or give the folder of initdb and postgres in " +
		EnvBin)

// find returns the folder of PostgreSQL's programs: the environment's, Debian's newest, or the one
// on PATH.
func find(pattern string) (string, error) {
	if dir := os.Getenv(EnvBin); dir != "" {
		if !complete(dir) {
			return "", fmt.Errorf("%s: initdb and postgres not found in %s", EnvBin, dir)
		}
		return dir, nil
	}

	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}

	slices.SortFunc(dirs, func(a, b string) int { return major(b) - major(a) })
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}

	if i := slices.IndexFunc(dirs, complete); i >= 0 {
		return dirs[i], nil
	}

	return "", errMissing
}

// complete reports whether a folder has the programs that a server needs.
func complete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// major returns the version in the name of a Debian folder, 0 if there is none.
func major(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}

// version asks a server program for its version: "15.18".
func version(ctx context.Context, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	path := filepath.Join(dir, "postgres")
	out, err := exec.CommandContext(ctx, path, "-V").Output()
	if err != nil {
		return "", fmt.Errorf("%s -V: %w", path, err)
	}
	return parseVersion(string(out))
}

// parseVersion parses "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseVersion(text string) (string, error) {
	rest, ok := strings.CutPrefix(text, "postgres (PostgreSQL) ")
	if f := strings.Fields(rest); ok && len(f) > 0 {
		return f[0], nil
	}
	return "", fmt.Errorf("this is not PostgreSQL: its version is %.60q", text)
}
