package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
)

// A server that claims ever new databases and waits fills no memory: no session is lost, and a note says that
// labels are.
func TestGroupsAreBounded(t *testing.T) {
	tg, err := newTarget("postgres://127.0.0.1/shop", recognise.LiveOptions{Getenv: func(string) string { return "" }, Within: time.Minute})
	if err != nil {
		t.Fatal(err)
	}

	notes := ""
	all := sessionGroups(newSampler(tg, nil, func(n recording.Note) { notes += n.Text + "\n" }))
	const sessions = 5 * groupsMax
	var rows [][][]byte
	for i := range sessions {
		wait := []byte(nil)
		if i%2 == 0 {
			wait = []byte("IO")
		}
		rows = append(rows, [][]byte{fmt.Append(nil, i), []byte("active"), nil, wait, wait, []byte("1"), []byte("2")})
	}

	for range 2 {
		if _, err := all.take(rows); err != nil {
			t.Fatal(err)
		}
	}

	counted := 0.0
	for _, g := range all.order {
		counted += g.values[0]
	}
	if counted != sessions || len(all.of) > 2*groupsMax+1 || !strings.Contains(notes, "counted without them") {
		t.Errorf("%v of %d sessions in %d groups; notes: %s", counted, sessions, len(all.of), notes)
	}
}
