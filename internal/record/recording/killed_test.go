package recording

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// envChild makes the test binary a recorder that will be killed, see TestKilled.
const envChild = "RECORDING_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envChild); dir != "" {
		childRecorder(dir)
		return
	}
	os.Exit(m.Run())
}

// childRecorder appends two samples every 10 ms and prints the number of each batch
// once Append has returned, until it is killed.
func childRecorder(dir string) {
	d, err := Create(dir, DiskOptions{BlockSamples: 300})
	if err != nil {
		fmt.Println("error", err)
		return
	}

	for k := 0; ; k++ {
		b := Batch{TimesMs: []int64{second(float64(k)).UnixMilli()},
			Columns: []Column{{named("k"), []float64{float64(k)}}, {named("constant"), []float64{42}}}}
		if err := d.Append(context.Background(), &b); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(k)
		time.Sleep(10 * time.Millisecond)
	}
}

// A killed recorder has lost no appended batch, before or after a block was written. The folder can be
// read, and recorded to again.
func TestKilled(t *testing.T) {
	for _, batches := range []int{1, 40, 170, 400} {
		t.Run(strconv.Itoa(batches), func(t *testing.T) {
			dir := t.TempDir()
			last := runChild(t, dir, batches)
			before := listing(t, dir)
			checkKilled(t, dir, last)

			if after := listing(t, dir); before != after {
				t.Errorf("reading changed the folder:\n%s\nto:\n%s", before, after)
			}

			d := mustCreate(t, dir, DiskOptions{})
			b := Batch{TimesMs: []int64{second(1e6).UnixMilli()}, Columns: []Column{{named("k"), []float64{-1}}}}
			if err := d.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}

			mustClose(t, d)
			if got := listing(t, dir); strings.Contains(got, walDirName+"/") || strings.Contains(got, temporarySuffix) {
				t.Errorf("left over:\n%s", got)
			}

			checkKilled(t, dir, last)
		})
	}
}

// runChild runs the recorder until it has printed n batches, kills it, and returns the number of
// the last one printed.
func runChild(t *testing.T, dir string, batches int) (last int) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	lines := bufio.NewScanner(out)
	for range batches {
		if !lines.Scan() {
			t.Fatalf("the recorder ended: %v", lines.Err())
		}
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(lines.Text())
		}
	}

	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	for lines.Scan() { // printed before it was killed
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(lines.Text())
		}
	}

	if err := cmd.Wait(); err == nil {
		t.Fatal("the recorder was not killed")
	}

	return last
}

func checkKilled(t *testing.T, dir string, last int) {
	t.Helper()
	r := mustOpen(t, dir)
	defer mustClose(t, r)

	out, err := r.Samples(t.Context(), MetricSelector("k"), t0, second(1e5))
	if err != nil {
		t.Fatal(err)
	}

	points := one(t, out)
	if len(points) < last+1 || len(points) > last+2 { // one may be written but not yet printed
		t.Fatalf("%d samples, %d were printed", len(points), last+1)
	}

	for k, p := range points {
		if p.F != float64(k) || p.T != second(float64(k)).UnixMilli() {
			t.Fatalf("sample %d: %g at %d ms", k, p.F, p.T)
		}
	}

	for range 3 { // more than one query
		if n := len(one(t, ask(t, r, "constant", 0, float64(last), time.Second, time.Second))); n != last+1 {
			t.Errorf("constant: %d points, want %d", n, last+1)
		}
	}
}

// Sources are on disk soon after they are known, even if a recorder is killed before the minimum time
// between two writes of recording.json has passed.
func TestSourceIsWrittenImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := mustCreate(t, dir, DiskOptions{})
		defer mustClose(t, d)
		d.Source(Source{Kind: "host", Name: "host"})
		time.Sleep(manifestTick)
		synctest.Wait()

		m, err := readManifest(dir)
		if err != nil {
			t.Fatal(err)
		}

		if len(m.Sources) != 1 || m.Sources[0].Name != "host" {
			t.Errorf("recording.json names the sources %v, want the host", m.Sources)
		}
	})
}
