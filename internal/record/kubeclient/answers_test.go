package kubeclient_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"plimsoll/internal/check/hostile"
	"plimsoll/internal/record/kubeclient"
)

// TestHostileAnswers reads damaged responses of an API server. Plimsoll lists and gets, and never
// watches.
func TestHostileAnswers(t *testing.T) {
	pod := `{"metadata":{"name":"db-0","namespace":"db","uid":"u","labels":{"app":"db"},"creationTimestamp":"2026-09-21T14:13:20Z"},` +
		`"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"2","memory":"4Gi"}},"volumeMounts":[{"name":"data","mountPath":"/data"}]}],` +
		`"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-db-0"}}]},"status":{"phase":"Running","podIP":"10.0.0.1"}}`

	r := hostile.Rand(t)
	damaged := hostile.Answers(r, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Query().Get("continue") == "" {
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"7","continue":"more"},"items":[`+pod+`,`+pod+`]}`)
			return
		}
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"7"},"items":[`+pod+`]}`)
	}))

	c := opened(t, 5*time.Second, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		damaged.ServeHTTP(w, q)
	})

	readable, worst := 0, time.Duration(0)
	tries := hostile.Tries(60, hostile.ParserTries)
	for n := range tries {
		began := time.Now()
		_, err := kubeclient.Pods.List(t.Context(), c, "db", "")
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
