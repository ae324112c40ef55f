package google

import (
	"net/http/httptest"
	"testing"
	"time"

	"plimsoll/internal/check/hostile"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestHostileAnswers reads damaged responses of the cloud: none may cause a panic, take long or fail
// with a decoder's message.
func TestHostileAnswers(t *testing.T) {
	r := hostile.Rand(t)
	server := httptest.NewServer(hostile.Answers(r, &fake{}))
	defer server.Close()

	readable, worst := 0, time.Duration(0)
	tries := hostile.Tries(60, hostile.ParserTries)
	for n := range tries {
		began := time.Now()
		s, err := Cloud{Compute: server.URL, Monitoring: server.URL, Token: loggedIn{}, Wait: func(int) time.Duration { return 0 }}.Open(t.Context(), "gcp://"+disk)
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
}
