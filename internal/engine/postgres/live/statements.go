package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/recording"
)

const (
	commitsMetric       = "plimsoll_postgres_commits_total"
	commitSecondsMetric = "plimsoll_postgres_commit_seconds_total"
	// statementsMax is the largest pg_stat_statements.max up to which commits are read every
	// second: that goes through all remembered statements, a few milliseconds for the usual 5,000.
	statementsMax = 10_000
	// commitsLookEvery is how often to look for new spellings of COMMIT, which reads the
	// statements' texts.
	commitsLookEvery = 5 * time.Minute
	// commitIDsMax bounds the ids.
	commitIDsMax = 64
)

// findCommits returns the ids of the statements that end a transaction; END is PostgreSQL's synonym
// for COMMIT.
const findCommits = `SELECT DISTINCT queryid FROM %s.pg_stat_statements(true) WHERE query ~* '^\s*(commit|end)(\s+(work|transaction))?\s*;?\s*$' AND queryid IS NOT NULL LIMIT %d`

// commitsQuery returns their sums without reading texts.
const commitsQuery = `SELECT d.datname, s.queryid, sum(s.calls), sum(s.%s) / 1000 FROM %s.pg_stat_statements(false) s JOIN pg_database d ON d.oid = s.dbid
 WHERE s.queryid IN (%s) GROUP BY 1, 2`

// commits returns the queries for COMMITs to pg_stat_statements, if that is in a schema of this
// database: their ids, and their sums. nil: there is none, or it is too large.
func (s *sampler) commits(schema, most string) []*question {
	if schema == "" || !s.wants(commitsMetric) && !s.wants(commitSecondsMetric) {
		return nil
	}
	n, err := strconv.Atoi(most)
	if err != nil {
		return nil // installed in the database, but not loaded by the server
	}
	if n > statementsMax {
		s.limit(fmt.Sprintf("COMMIT times are not recorded: pg_stat_statements.max is %d, and more than %d statements are not read each second", n, statementsMax))
		return nil
	}
	spent := "total_exec_time"
	if s.version < v13 {
		spent = "total_time"
	}
	sums := func(ids []string) string {
		return fmt.Sprintf(commitsQuery, spent, schema, strings.Join(append(ids, "NULL"), ", "))
	}
	asking := &question{name: "pg_stat_statements", query: sums(nil), needs: monitor, columns: 4, take: s.takeCommits}
	finding := &question{name: "pg_stat_statements", query: fmt.Sprintf(findCommits, schema, commitIDsMax), every: commitsLookEvery, needs: monitor, columns: 1}
	finding.take = func(rows [][][]byte) ([]recording.Column, error) {
		var ids []string
		for _, r := range rows[:min(len(rows), commitIDsMax)] {
			if _, err := strconv.ParseInt(string(r[0]), 10, 64); err != nil {
				return nil, fmt.Errorf("a queryid is %.30q", r[0])
			}
			ids = append(ids, string(r[0]))
		}
		asking.query = sums(ids)
		return nil, nil
	}
	return []*question{finding, asking}
}

// takeCommits reads the rows of [commitsQuery].
func (s *sampler) takeCommits(rows [][][]byte) ([]recording.Column, error) {
	var out []recording.Column
	for _, r := range rows {
		for i, metric := range []string{commitsMetric, commitSecondsMetric} {
			x, err := number(r[2+i])
			if err != nil {
				return nil, err
			}
			if s.wants(metric) {
				out = append(out, recording.Column{Labels: s.labelled(metric, []string{"datname", "queryid"}, r[:2]), Values: []float64{x}})
			}
		}
	}
	return out, nil
}
