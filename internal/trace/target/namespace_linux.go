package target

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// initialNamespace is the PID namespace of the host's own processes: PROC_PID_INIT_INO, the same on
// every kernel (Linux, include/linux/proc_ns.h).
const initialNamespace = "pid:[4026531836]"

// namespaced reports whether this process is in a PID namespace other than the host's, such as a
// container's. The eBPF programs see the host's process IDs, so a local PID means a different
// process to them, or none.
func namespaced(link string) bool {
	in, err := os.Readlink(link)
	return err == nil && strings.HasPrefix(in, "pid:[") && in != initialNamespace
}

// inContainer reports whether this process is in such a namespace.
var inContainer = sync.OnceValue(func() bool { return namespaced("/proc/self/ns/pid") })

func errNamespaced(c Choice) *Error {
	return &Error{fmt.Sprintf("cannot trace %s by process ID: this is a container with its own PID namespace",
		c),
		"use the host's PID namespace (docker run --pid=host, or hostPID: true in a pod), run it on the host, or use --path FOLDER, which traces by device"}
}

// noteNamespaced is a note for traces by device, which do work in a container.
const noteNamespaced = "this is a container with its own PID namespace: threads are shown instead of programs (docker run --pid=host or hostPID: true shows programs)"
