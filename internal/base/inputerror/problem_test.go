package inputerror

import "testing"

func TestProblem(t *testing.T) {
	var l List
	if l.Err() != nil {
		t.Error("no problems are an error")
	}
	l = append(l, Problem{Field: "iops", Text: "90,000 is over the most that gp3 has", Limit: "80,000", Source: "EC2 API, 2026", Nearest: "80000"})
	l.Addf("", "%s has no type", "data")
	got := l.Under("volumes.data").Err().Error()
	want := "volumes.data.iops: 90,000 is over the most that gp3 has (limit: 80,000; EC2 API, 2026); nearest legal value: 80000\n" +
		"volumes.data: data has no type"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
