//go:build linux

package probe

import (
	"fmt"
	"strings"
)

// FioJob returns the profile as a fio job file (3.27 or later), for cross-checking: the same stages
// in sequence, in files that fio creates and keeps in the folder. Comments mark what fio cannot
// express.
func FioJob(p *Profile, folder string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("; %s: %s", p.Name, strings.ReplaceAll(p.About, "\n", " "))
	line("; fio keeps its files: remove plimsoll-fio.* in the folder afterwards.")
	line("[global]")
	line("directory=%s", strings.ReplaceAll(folder, ":", `\:`))
	line("time_based=1")
	line("runtime=%d", max(int64(p.Stage.Std().Seconds()+0.5), 1))
	line("percentile_list=50:95:99:99.9")
	line("randrepeat=1")
	line("norandommap=1")
	line("refill_buffers=0")

	for _, st := range p.stages() {
		for i, s := range st.streams {
			name := strings.ReplaceAll(st.name, " ", "-") + "." + s.Name
			line("")
			line("[%s]", name)
			if i == 0 {
				line("stonewall")
			}
			s.fio(line)
		}
	}

	return b.String()
}

// fio writes the options of one stream.
func (s *Stream) fio(line func(format string, args ...any)) {
	line("filename=plimsoll-fio.%s", s.Name)
	line("rw=%s", map[Kind]string{Append: "write", RandomWrite: "randwrite", RandomRead: "randread"}[s.Kind])
	line("bs=%d", int64(s.Size))
	line("size=%d", int64(s.File/s.Size*s.Size))

	if s.Depth > 1 {
		line("ioengine=libaio")
		line("iodepth=%d", s.Depth)
	} else {
		line("ioengine=psync")
	}

	if s.Direct {
		line("direct=1")
	}

	if s.Writes() && s.Prewritten {
		line("overwrite=1")
		if !s.Direct {
			line("; the probe's file is in the page cache; otherwise a page would have to be read before part of it is written")
			line("pre_read=1")
		}
	}

	if s.Sync > 0 {
		line("fdatasync=%d", s.Sync)
	}

	if s.Rate > 0 {
		line("rate_iops=%d", max(int64(float64(s.Rate)+0.5), 1))
		if s.Poisson {
			line("rate_process=poisson")
		}
	}

	if s.On > 0 {
		line("; fio begins with the on-time, not the off-time")
		line("thinktime_iotime=%dus", s.On.Std().Microseconds())
		line("thinktime=%dus", s.Off.Std().Microseconds())
	}

	if s.Burst > 0 {
		line("; at most %s in each on-time: fio has no option for this", s.Burst.Exact())
	}

	if s.SyncAtEnd {
		line("; an fdatasync at the end of each on-time: fio has no option for this")
	}
}
