package target

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestNamespaced(t *testing.T) {
	dir := t.TempDir()
	for in, want := range map[string]bool{initialNamespace: false, "pid:[4026532001]": true, "": false, "elsewhere": false} {
		link := filepath.Join(dir, strings.ReplaceAll("l"+in, "/", "_"))
		if in != "" {
			if err := os.Symlink(in, link); err != nil {
				t.Skip(err)
			}
		}
		if got := namespaced(link); got != want {
			t.Errorf("%q is recognized as a container's namespace: %v, want %v", in, got, want)
		}
	}
}

// TestInAContainer: in a PID namespace, tracing by process ID would trace nothing or the wrong process,
// so it is refused with a hint. The test runs itself in such a namespace.
func TestInAContainer(t *testing.T) {
	const inside = "PLIMSOLL_TEST_IN_CONTAINER"
	if os.Getenv(inside) != "" {
		if os.Getpid() != 1 {
			t.Fatalf("this is process %d, not the first of a namespace", os.Getpid())
		}

		for _, c := range []Choice{{PID: 1}, {Command: "postgres"}, {Unit: "postgresql.service"}} {
			_, err := Find(c)
			var refused *Error
			if !errors.As(err, &refused) || !strings.Contains(refused.Hint(), "--pid=host") {
				t.Errorf("%s: %v, want a refusal that names --pid=host", c, err)
			}
		}

		if name := Program(1); name != "" {
			t.Errorf("the host's process 1 is given the name %q of this container's process", name)
		}

		return
	}

	if inContainer() {
		t.Skip("already in a container")
	}

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInAContainer$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}

	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("not allowed to create a PID namespace: ", err)
	}

	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
