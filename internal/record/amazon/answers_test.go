package amazon

import (
	"net/http/httptest"
	"testing"
	"time"

	"plimsoll/internal/check/hostile"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestHostileAnswers reads damaged AWS responses: none may cause a panic, take long or fail with a
// decoder's message.
func TestHostileAnswers(t *testing.T) {
	r := hostile.Rand(t)
	server := httptest.NewServer(hostile.Answers(r, &fake{}))
	defer server.Close()
	usual(t, server.URL)

	readable, worst := 0, time.Duration(0)
	addresses := []string{"aws://" + id, "aws://i-0123456789abcdef0", "aws://rds/orders"}
	tries := hostile.Tries(60, hostile.ParserTries)
	for n := range tries {
		began := time.Now()
		s, err := Cloud{Backoff: atOnce}.Open(t.Context(), addresses[n%len(addresses)])
		if err == nil {
			err = s.Read(t.Context(), recording.NewMemory(recording.MemoryOptions{}), source.Options{})
		}

		worst = max(worst, time.Since(began))
		if err == nil {
			readable++
		} else if word := hostile.Internal(err.Error()); word != "" {
			t.Fatalf("try %d: the error says %q: %.500s", n, word, err)
		}
	}

	t.Logf("%d tries, %d of them readable; the slowest took %s", tries, readable, worst)
	if worst > hostile.Within {
		t.Errorf("one took %s", worst)
	}
	if readable == 0 {
		t.Error("no try is readable")
	}
}
