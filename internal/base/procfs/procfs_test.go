package procfs

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	library "github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
)

const stat = `cpu  50 1 2 3 4 5 6 7 0 0
cpu0 50 1 2 3 4 5 6 7 0 0
cpu1 1 2 3 4
intr 1 2 3 x
softirq x
ctxt 9
procs_blocked 7
`

func TestStat(t *testing.T) {
	cpus, counts := map[string][]uint64{}, map[string]uint64{}
	cpu := func(name string, ticks []uint64) { cpus[name] = slices.Clone(ticks) }
	count := func(name string, v uint64) { counts[name] = v }

	if err := Stat(stat, cpu, count); err != nil {
		t.Fatal(err)
	}

	if all := []uint64{50, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(cpus[""], all) || !slices.Equal(cpus["0"], all) || !slices.Equal(cpus["1"], []uint64{1, 2, 3, 4}) {
		t.Errorf("CPUs %v", cpus)
	}

	if !maps.Equal(counts, map[string]uint64{"ctxt": 9, "procs_blocked": 7}) {
		t.Errorf("counts %v", counts)
	}

	for text, want := range map[string]string{"cpu0 1 x\n": `cpu0 nice is "x"`, "ctxt -1\n": `ctxt is "-1"`} {
		if err := Stat(text, cpu, count); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMemory(t *testing.T) {
	if n, err := memory("MemTotal: 1 kB\nMemAvailable:   16318412 kB\n", "MemAvailable"); n != 16318412<<10 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, text := range []string{"", "MemAvailable: -1 kB", "MemAvailable: many", "MemAvailable: 9223372036854775807 kB"} {
		if n, err := memory(text, "MemAvailable"); err == nil {
			t.Errorf("%q: %d", text, n)
		}
	}
}

func TestPressure(t *testing.T) {
	got := map[string]float64{}
	err := Pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=900000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\nnew x=1\n", func(kind string, s float64) { got[kind] = s })
	if err != nil || !maps.Equal(got, map[string]float64{"some": 0.9, "full": 5e-6}) {
		t.Errorf("%v, %v", got, err)
	}
	if err := Pressure("some avg10=0.00\n", func(string, float64) {}); err == nil {
		t.Error("a line without a total was accepted")
	}
}

func TestDisks(t *testing.T) {
	d, ok, err := ParseDisk(" 259       0 nvme1n1 5 1 40 7 3100 0 99200 38750 3 980 38750 2 0 16 1 9 4\n")
	if err != nil || !ok || d.Numbers != "259:0" || d.Name != "nvme1n1" || d.Known != 17 || d.Value(6) != 99200*SectorBytes || d.Value(7) != 38.75 || d.Value(16) != 0.004 {
		t.Errorf("%+v, %v, %v", d, ok, err)
	}

	for text, want := range map[string]string{
		"8 0 sda 1 2":                      "5 fields: want at least 14",
		"8 0 sda 1 2 3 4 5 6 x 8 9 10 11":  `field 10 is "x": want a count`,
		"8 0 sda 1 2 3 4 5 6 -7 8 9 10 11": `field 10 is "-7": want a count`,
		"":                                 "",
		"8 1 sda1 1 2 3 4":                 "", // Linux 2.6.24
	} {
		if d, ok, err := ParseDisk(text); ok || (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}

	c, err := ParseDiskStat("     120        0     8672       15     3000       40   240000    31000        2     4096    31015        0        0        0        0        7        1\n")
	if err != nil || c.Raw[0]+c.Raw[4] != 3120 || c.Value(3)+c.Value(7) != 31.015 {
		t.Errorf("%+v, %v", c, err)
	}

	for _, text := range []string{"", "1 2 3", "1 2 3 4 5 6 7 many 9 10 11", "1 2 3 -4 5 6 7 8 9 10 11"} {
		if c, err := ParseDiskStat(text); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func TestProcess(t *testing.T) {
	rest := strings.Repeat(" 0", 12) + " 4711 0"
	for text, want := range map[string]Process{
		"12 (sh) S 7 12 12 0 -1 4194304" + rest:                    {Name: "sh", State: "S", Parent: 7, Flags: 4194304, Start: "4711"},
		"12 (a) b) R 1 9 9 0 -1 0" + rest:                          {Name: "a) b", State: "R", Parent: 1, Start: "4711"},
		"12 (x (y) Z 3 4 4 0 -1 0" + rest:                          {Name: "x (y", State: "Z", Parent: 3, Start: "4711"},
		"61 (kworker/u4:3-flush-7:0) I 2 0 0 0 -1 69238880" + rest: {Name: "kworker/u4:3-flush-7:0", State: "I", Parent: 2, Flags: 69238880, Start: "4711"},
		"":                              {},
		"12 (sh":                        {},
		"12 )sh(":                       {},
		"12 (sh) S":                     {},
		"12 (sh) S x 0 0 0 -1 0" + rest: {},
		"12 (sh) S 1 0 0 0 -1 x" + rest: {},
	} {
		got, err := ParseProcess(text)
		if got != want || (err == nil) != (want != Process{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if got.KernelThread() != (got.Parent == 2) {
			t.Errorf("%q: a thread of the kernel: %v", text, got.KernelThread())
		}
	}

	p, err := ProcessOf("/proc", os.Getpid())
	if err != nil {
		t.Skip("no /proc here:", err)
	}

	pids, err := PIDs("/proc")
	if p.Parent != os.Getppid() || Comm(os.Getpid()) != p.Name || err != nil || !slices.Contains(pids, os.Getpid()) {
		t.Errorf("%+v of %d, %q; among %v, %v", p, os.Getppid(), Comm(os.Getpid()), pids, err)
	}
}

func TestMemberships(t *testing.T) {
	got := Memberships("12:cpu,cpuacct:/system.slice/a:b.service\n1:name=systemd:/x\n0::/y\nbad\n2:pids\n3::relative\n")
	if want := []Membership{{"cpu,cpuacct", "/system.slice/a:b.service"}, {"name=systemd", "/x"}, {"", "/y"}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Damaged input is skipped or an error; no value is negative.
func FuzzParse(f *testing.F) {
	f.Add(stat)
	f.Add("MemTotal: 1 kB\nMemAvailable:   16318412 kB\n")
	f.Add("some avg10=0.00 total=900000\n")
	f.Add("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n")
	f.Add("18446744073709551615 0 0 0 0 0 0 0 0 0 0")
	f.Add("12 (sh) S 7 12 12 0 -1 4194304 0 0 0 0 0 0 0 0 0 0 0 0 4711 0")
	f.Add("27 1 254:0 / / rw - ext4 /dev/root rw\n44 27 7:2 / /a\\040b rw shared:5 - xfs /dev/lo")
	f.Add("0::/x\n1:name=systemd:/y\n")
	f.Fuzz(func(t *testing.T, text string) {
		_ = Stat(text, func(_ string, ticks []uint64) { _ = CPUModes[len(ticks)-1] }, func(string, uint64) {})
		_ = Meminfo(text, func(string) bool { return true }, func(name string, n int64) {
			if n < 0 {
				t.Errorf("%s: %d", name, n)
			}
		})

		_ = Pressure(text, func(_ string, s float64) {
			if s < 0 {
				t.Errorf("%g s", s)
			}
		})

		d, _, _ := ParseDisk(text)
		c, _ := ParseDiskStat(text)
		if d.Known > len(DiskColumns) || c.Known > len(DiskColumns) {
			t.Errorf("%+v, %+v", d, c)
		}

		_, _ = ParseProcess(text)
		for _, m := range Memberships(text) {
			if !strings.HasPrefix(m.Path, "/") {
				t.Errorf("%+v", m)
			}
		}

		for _, m := range ParseMounts(text) {
			if m.ID <= 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}

// BenchmarkLibrary compares this package with prometheus/procfs on this machine's files, in the way
// that a sample reads them.
func BenchmarkLibrary(b *testing.B) {
	lib, err := library.NewDefaultFS()
	if err != nil {
		b.Skip(err)
	}

	disks, err := blockdevice.NewDefaultFS()
	if err != nil {
		b.Skip(err)
	}

	ours := func(name string, parse func(text string) error) {
		b.Run(name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text, err := os.ReadFile("/proc/" + name)
				if err == nil {
					err = parse(string(text))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}

	theirs := func(name string, read func() error) {
		b.Run(name+"/library", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}

	ours("diskstats", func(text string) error {
		for line := range strings.Lines(text) {
			if _, _, err := ParseDisk(line); err != nil {
				return err
			}
		}
		return nil
	})

	theirs("diskstats", func() error { _, err := disks.ProcDiskstats(); return err })
	ours("stat", func(text string) error { return Stat(text, func(string, []uint64) {}, func(string, uint64) {}) })
	theirs("stat", func() error { _, err := lib.Stat(); return err })
	wanted := func(name string) bool { return name == "MemTotal" || name == "Dirty" }
	ours("meminfo", func(text string) error { return Meminfo(text, wanted, func(string, int64) {}) })
	theirs("meminfo", func() error { _, err := lib.Meminfo(); return err })
	ours("self/stat", func(text string) error { _, err := ParseProcess(text); return err })

	self, err := lib.Self()
	if err != nil {
		b.Skip(err)
	}

	theirs("self/stat", func() error { _, err := self.Stat(); return err })
}
