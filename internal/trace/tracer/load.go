//go:build linux

package tracer

import (
	"bytes"
	"cmp"
	_ "embed" // the object
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

//go:embed bpf/trace.bpf.o
var object []byte

// A program is one of the object's programs, with the tracepoint it attaches to.
type program struct {
	name       string
	tracepoint string
	// arguments is the tracepoint's argument count, if that distinguishes variants; 0 if any will
	// do.
	arguments int
	// without says what is invisible without the program; "" if another program does the same. A
	// trace cannot run without the required ones.
	without  string
	required bool
}

// programs lists all programs. The signatures are those of Linux 5.10 to 6.18.
var programs = []program{
	{"switched", "sched_switch", 0, "the system calls and what threads wait for", true},
	{"switched_cast", "sched_switch", 0, "the system calls and what threads wait for", true},
	{"ext4_sync", "ext4_sync_file_enter", 2, "", false},
	{"ext4_synced", "ext4_sync_file_exit", 2, "", false},
	{"xfs_sync", "xfs_file_fsync", 1, "", false},
	{"btrfs_sync", "btrfs_sync_file", 2, "", false},
	{"waking", "sched_waking", 0, "which thread ends a wait", true},
	{"insert_510", "block_rq_insert", 2, "", false},
	{"issue_510", "block_rq_issue", 2, "", false},
	{"merge_510", "block_rq_merge", 2, "", false},
	{"io_start", "block_io_start", 1, "", false}, // requests with a flush
	{"insert", "block_rq_insert", 1, "", false},
	{"issue", "block_rq_issue", 1, "the devices' requests", true},
	{"merge", "block_rq_merge", 1, "", false},
	{"complete", "block_rq_complete", 3, "the devices' requests", true},
	{"flush_start", "writeback_start", 2, "why the kernel writes pages back", false},
	{"flush_end", "writeback_written", 2, "", false},
	{"dirty_folio", "writeback_dirty_folio", 2, "", false},
	{"dirty_page", "writeback_dirty_page", 2, "", false},
	{"commit_start", "jbd2_start_commit", 2, "the commits of ext4's journal", false},
	{"commit_locking", "jbd2_commit_locking", 2, "", false},
	{"commit_flushing", "jbd2_commit_flushing", 2, "", false},
	{"commit_logging", "jbd2_commit_logging", 2, "", false},
	{"commit_end", "jbd2_end_commit", 2, "", false},
	{"handle_stats", "jbd2_handle_stats", 8, "which process keeps a transaction of ext4's journal open", false},
	// Between 5.11 and 5.18 the order of the arguments differs in each version.
	{"ring_request", "io_uring_submit_req", 1, "", false},
	{"ring_entry", "io_uring_submit_sqe", 2, "", false},
	{"ring_510", "io_uring_submit_sqe", 5, "", false},
}

// castFunction is a kernel function that only some kernels have. castVariants says which programs
// call it. Those must not be loaded on other kernels: searching each module's types for it takes
// seconds and additional privileges.
const castFunction = "bpf_rdonly_cast"

var castVariants = map[string]bool{"switched": false, "switched_cast": true}

// An UnavailableError explains why this machine or user cannot trace, and what works instead.
type UnavailableError struct{ Why, Instead string }

func (e *UnavailableError) Error() string { return "trace: " + e.Why }

// Hint says what to do instead.
func (e *UnavailableError) Hint() string { return e.Instead }

const (
	withoutRights = "run it as root (sudo plimsoll trace ...); without root, plimsoll diagnose host works from counters"
	withoutKernel = "plimsoll diagnose host works from counters, on any kernel"
)

// Available reports why this process cannot trace; nil if no obstacle is known.
func Available() error {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return &UnavailableError{"this kernel has no BTF (/sys/kernel/btf/vmlinux): it needs Linux 5.10 or newer with CONFIG_DEBUG_INFO_BTF",
			withoutKernel}
	}
	if missing := missingRights(); len(missing) > 0 {
		return &UnavailableError{"missing " + strings.Join(missing, " and "), withoutRights}
	}
	return nil
}

// missingRights returns the capabilities that this process lacks.
func missingRights() []string {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return nil // loading the programs will fail with a reason
	}

	has := func(c int) bool { return data[c/32].Effective&(1<<(c%32)) != 0 }
	if has(unix.CAP_SYS_ADMIN) {
		return nil // includes the others
	}

	var missing []string
	for _, c := range []struct {
		bit  int
		name string
	}{{unix.CAP_BPF, "CAP_BPF"}, {unix.CAP_PERFMON, "CAP_PERFMON"}, {unix.CAP_SYSLOG, "CAP_SYSLOG"},
		{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}} {
		if !has(c.bit) {
			missing = append(missing, c.name)
		}
	}

	return missing
}

// kernelTypes looks up the argument counts of tracepoints in the kernel's BTF.
type kernelTypes struct{ specs []*btf.Spec }

// modules may define tracepoints that are not built into the kernel.
var modules = []string{"jbd2", "ext4", "xfs", "btrfs"}

func readTypes() (*kernelTypes, error) {
	k, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, &UnavailableError{fmt.Sprintf("cannot read this kernel's BTF: %v", err), withoutKernel}
	}
	t := &kernelTypes{[]*btf.Spec{k}}
	for _, m := range modules {
		if _, err := os.Stat("/sys/kernel/btf/" + m); err != nil {
			continue
		}
		if s, err := btf.LoadKernelModuleSpec(m); err == nil {
			t.specs = append(t.specs, s)
		}
	}
	return t, nil
}

// arguments returns a tracepoint's argument count; -1 if the kernel lacks it.
func (t *kernelTypes) arguments(tracepoint string) int {
	for _, s := range t.specs {
		var def *btf.Typedef
		if err := s.TypeByName("btf_trace_"+tracepoint, &def); err != nil {
			continue
		}
		if p, ok := def.Type.(*btf.Pointer); ok {
			if f, ok := p.Target.(*btf.FuncProto); ok {
				return len(f.Params) - 1 // the first is the program's context
			}
		}
	}
	return -1
}

// casts reports whether the kernel itself, not a module, has castFunction.
func (t *kernelTypes) casts() bool {
	var f *btf.Func
	return t.specs[0].TypeByName(castFunction, &f) == nil
}

// choose removes programs that do not fit the kernel from the object. It returns what is invisible
// as a result, and fails if too little remains.
func choose(spec *ebpf.CollectionSpec,
	arguments func(tracepoint string) int, casts bool) (missing []string, err error) {
	fits := map[string]bool{} // tracepoints with a program
	for _, p := range programs {
		cast, varies := castVariants[p.name]
		if n := arguments(p.tracepoint); (!varies || cast == casts) && n >= 0 &&
			(p.arguments == 0 || p.arguments == n) {
			fits[p.tracepoint] = true
			continue
		}
		delete(spec.Programs, p.name)
	}

	for _, p := range programs {
		if fits[p.tracepoint] || p.without == "" {
			continue
		}
		if p.required {
			return nil, &UnavailableError{fmt.Sprintf("this kernel lacks the BTF tracepoint %s, which shows %s",
				p.tracepoint, p.without), withoutKernel}
		}
		if !slices.Contains(missing, p.without) {
			missing = append(missing, p.without)
		}
	}

	if !fits["writeback_dirty_folio"] && !fits["writeback_dirty_page"] {
		missing = append(missing, "which process dirties pages")
	}

	return missing, nil
}

// load loads the programs. Closing the collection removes them.
func load(c *Config) (coll *ebpf.Collection, missing []string, err error) {
	if err := Available(); err != nil {
		return nil, nil, err
	}

	// Only kernels before 5.11 need this. If it was needed and failed, loading fails with a reason.
	_ = rlimit.RemoveMemlock()
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot parse the eBPF object: %w", err)
	}

	types, err := readTypes()
	if err != nil {
		return nil, nil, err
	}

	missing, err = choose(spec, types.arguments, types.casts())
	if err != nil {
		return nil, nil, err
	}

	if err := c.set(spec); err != nil {
		return nil, nil, err
	}

	coll, err = ebpf.NewCollection(spec)
	if err != nil {
		return nil, nil, refused("load", err)
	}

	return coll, missing, nil
}

// refused turns an error of the kernel into an explanation.
func refused(what string, err error) error {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return &UnavailableError{fmt.Sprintf("this kernel's verifier rejects the eBPF programs, which is a bug in plimsoll: %v",
			err), withoutKernel}
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return &UnavailableError{fmt.Sprintf("the kernel refuses to %s its eBPF programs (%v), because of a container's seccomp profile, lockdown mode or missing privileges",
			what, err), withoutRights}
	}
	return &UnavailableError{fmt.Sprintf("the kernel cannot %s an eBPF program: %v", what, err), withoutKernel}
}

// stackBytes is the size of a thread's kernel stack. Programs on kernels since 5.15 find its end
// themselves.
func stackBytes() uint32 { return uint32(max(16<<10, os.Getpagesize())) }

// set writes the configuration into the object before it is loaded, so the programs see constants.
func (c *Config) set(spec *ebpf.CollectionSpec) error {
	var kinds [512]uint8
	for number, kind := range systemCalls {
		kinds[number] = uint8(kind)
	}

	var rings [64]uint8
	for operation, kind := range ringOperations {
		rings[operation] = uint8(kind)
	}

	var errs []error
	for name, v := range map[string]any{"slow_ns": uint64(c.Slower), "wait_ns": uint64(c.minWait()),
		"early_ns": c.early(), "early_shift": uint32(c.spanBits()), "early_spans": c.earlySpans(),
		"by_device": c.ByDevice, "check_stacks": c.checkStacks, "stack_bytes": stackBytes(), "kinds": kinds,
		"ring_kinds": rings} {
		variable := spec.Variables[name]
		if variable == nil {
			return fmt.Errorf("the eBPF object has no variable %s", name)
		}
		errs = append(errs, variable.Set(v))
	}

	spec.Maps["events"].MaxEntries = cmp.Or(c.ringBytes, ringDefault)
	return errors.Join(errs...)
}
