package kernel

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
)

// A Scheduler orders the requests to a device: /sys/block/NAME/queue/scheduler.
type Scheduler string

// The kernel's schedulers (Documentation/block/, 6.18). None is the default of fast devices with
// many queues, including NVMe.
const (
	NoScheduler Scheduler = "none"
	MQDeadline  Scheduler = "mq-deadline"
	Kyber       Scheduler = "kyber"
	BFQ         Scheduler = "bfq"
)

var schedulers = []Scheduler{NoScheduler, MQDeadline, Kyber, BFQ}

// MountOptions are a file system's options in the syntax of mount -o: "noatime,logbsize=256k".
type MountOptions string

// List returns each option.
func (o MountOptions) List() []string {
	if o == "" {
		return nil
	}
	return strings.Split(string(o), ",")
}

// mountOptions lists, by file system, the options that affect what is written or when; those that
// take a value end in "=". All others are refused: the file system is created for one run, and an
// option that makes the machine panic on an error, for example, has no place there. (mount(8);
// Documentation/admin-guide/ext4.rst and xfs.rst, 6.18)
var mountOptions = map[FileSystem][]string{
	"": {"noatime", "relatime", "strictatime", "nodiratime", "lazytime", "sync", "dirsync",
		"discard", "nodiscard"},
	Ext4: {"data=", "commit=", "barrier=", "nobarrier", "journal_async_commit", "delalloc", "nodelalloc",
		"dioread_nolock", "dioread_lock", "stripe=", "max_batch_time=", "min_batch_time="},
	XFS: {"logbsize=", "logbufs=", "allocsize=", "inode64", "inode32", "largeio", "nolargeio",
		"wsync", "swalloc"},
}

const mountOptionsMax = 256 // bytes

// checkMounting reports options that a volume cannot be mounted with.
func (c *Config) checkMounting(l *inputerror.List) {
	if !slices.Contains(schedulers, c.Scheduler) {
		*l = append(*l, inputerror.Problem{
			Field: "scheduler", Text: fmt.Sprintf("%q is not a scheduler", c.Scheduler),
			Limit: "none, mq-deadline, kyber or bfq", Source: block + ", scheduler", Nearest: string(NoScheduler),
		})
	}

	if len(c.MountOptions) > mountOptionsMax {
		*l = append(*l, inputerror.Problem{Field: "mount_options", Text: "too long",
			Limit: fmt.Sprintf("%d bytes", mountOptionsMax), Source: assumed})
		return
	}

	for _, option := range c.MountOptions.List() {
		name, value, valued := strings.Cut(option, "=")
		if valued {
			name += "="
		}

		known := slices.Concat(mountOptions[""], mountOptions[c.FileSystem])
		if !slices.Contains(known, name) || (valued && !plain(value)) {
			*l = append(*l, inputerror.Problem{
				Field: "mount_options", Text: fmt.Sprintf("%q is not supported for %s volumes", option, c.FileSystem),
				Limit: strings.Join(known, " "), Source: "mount(8): the options that change what is written, or when",
			})
		}
	}
}

// plain reports whether a value is a word or a number.
func plain(value string) bool {
	return value != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
}

// Unmodelled returns settings that do not change a model's result: a real run (lab run) uses them.
func (c *Config) Unmodelled() inputerror.List {
	var l inputerror.List
	if c.Scheduler != NoScheduler {
		l = append(l, inputerror.Problem{Field: "scheduler",
			Text: fmt.Sprintf("%s applies to lab run only: a simulation has no scheduler", c.Scheduler)})
	}
	if c.MountOptions != "" {
		l = append(l, inputerror.Problem{Field: "mount_options",
			Text: fmt.Sprintf("%s applies to lab run only: a simulation uses the file system's defaults",
				c.MountOptions)})
	}
	return l
}
