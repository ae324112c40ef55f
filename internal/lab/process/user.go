//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A User is the user that a program runs as. A nil User is the current one.
type User struct {
	Name     string
	UID, GID uint32
}

// Unprivileged returns the first of the named users that exists, to run a program as; nil if we are
// not root, in which case programs run as the current user. It fails if we are root and none of the
// users exists.
func Unprivileged(names ...string) (*User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}

	uids, gids := mapped("/proc/self/uid_map"), mapped("/proc/self/gid_map")
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}

		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}

		// In a user namespace, an account may exist in the file but have no ID.
		if uids(uid) && gids(gid) {
			return &User{Name: name, UID: uint32(uid), GID: uint32(gid)}, nil
		}
	}

	return nil, fmt.Errorf("no user %s to run the engine as: create one, or do not run this as root",
		strings.Join(names, " or "))
}

// mapped reads which IDs exist in our user namespace (user_namespaces(7)): lines of first ID,
// outside ID, count.
func mapped(path string) func(id uint64) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return func(uint64) bool { return true } // this kernel has no user namespaces
	}
	return inMap(string(text))
}

func inMap(text string) func(id uint64) bool {
	return func(id uint64) bool {
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) != 3 {
				continue
			}
			first, err1 := strconv.ParseUint(f[0], 10, 64)
			count, err2 := strconv.ParseUint(f[2], 10, 64)
			if err1 == nil && err2 == nil && id >= first && id-first < count {
				return true
			}
		}
		return false
	}
}

// Own creates a folder that only the user may enter, or changes an existing one accordingly.
func (u *User) Own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if u == nil {
		return nil
	}
	return os.Chown(dir, int(u.UID), int(u.GID))
}

// Admit returns an error if the user has no access to a folder because of a parent folder's
// permissions.
func (u *User) Admit(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}

	for at := dir; u != nil; at = filepath.Dir(at) {
		var st syscall.Stat_t
		if err := syscall.Stat(at, &st); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}

		enter := uint32(0o001)
		switch {
		case st.Uid == u.UID:
			enter = 0o100
		case st.Gid == u.GID:
			enter = 0o010
		}

		if st.Mode&enter == 0 {
			return fmt.Errorf("user %s, which the engine runs as, has no access to %s: chmod o+x %s, or choose another folder",
				u.Name, at, at)
		}
		if at == filepath.Dir(at) {
			break
		}
	}

	return nil
}

func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: []uint32{}}
}
