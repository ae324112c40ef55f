//go:build linux

package run

import (
	"encoding/binary"
	"errors"
	"os"
)

// latencyFile takes how long a core may take to wake up, in microseconds, for as long as it is open
// (Linux, Documentation/power/pm_qos_interface.rst).
const latencyFile = "/dev/cpu_dma_latency"

// awake keeps the machine's cores from sleeping until the function it gives is called. A core that
// sleeps is woken in microseconds on hardware, but takes a virtual machine an exit to what runs it:
// with one append a 20 ms the median was 1.7 ms where the volume takes 0.67, and 0.9 with cores
// awake. A server that is asked so seldom that its cores sleep is slower by that, and a
// laboratory's machine is not the server's.
func awake() (undo func(), err error) {
	f, err := os.OpenFile(latencyFile, os.O_WRONLY, 0)
	if err != nil {
		return func() {}, err
	}
	if err := binary.Write(f, binary.NativeEndian, int32(0)); err != nil {
		return func() {}, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
