package target

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// initialNamespace is the PID namespace of the host's own processes: PROC_PID_INIT_INO, the same number
// on every kernel (Linux, include/linux/proc_ns.h).
const initialNamespace = "pid:[4026531836]"

// namespaced reports whether this process is in another PID namespace than the host's, as in a container.
// The kernel's programs see the host's numbers: a process's own number there is another process, or none.
func namespaced(link string) bool {
	in, err := os.Readlink(link)
	return err == nil && strings.HasPrefix(in, "pid:[") && in != initialNamespace
}

// inContainer is namespaced of this process.
var inContainer = sync.OnceValue(func() bool { return namespaced("/proc/self/ns/pid") })

func errNamespaced(c Choice) *Error {
	return &Error{fmt.Sprintf("%s is not known by its number to the kernel's programs: this is a container with its own processes",
		c),
		"run it with the host's processes: docker run --pid=host, hostPID: true in a pod, or on the host; or --path FOLDER, which traces by device"}
}

// noteNamespaced is for a trace by device, which works in a container.
const noteNamespaced = "this is a container with its own processes: programs are named by their threads (docker run --pid=host, or hostPID: true, names them)"
