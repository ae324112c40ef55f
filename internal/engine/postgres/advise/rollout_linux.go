package advise

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/advise/rollout"
)

// answerWithin is how long a server may take to answer a query.
const answerWithin = 10 * time.Second

// segment matches a WAL file's name: timeline and position (PostgreSQL 15 documentation, 30.6).
var segment = regexp.MustCompile(`^[0-9A-F]{24}$`)

// Procedure describes how to move a server's WAL.
func Procedure() rollout.Procedure {
	return rollout.Procedure{
		Log: "pg_wal", Into: "pg_wal", IsLog: segment.MatchString,
		Running: running, Answers: answers, Healthy: healthy,
	}
}

// running finds the running server by postmaster.pid, whose first line is the postmaster's process
// id.
func running(m *rollout.Member) (string, error) {
	lines, err := pidFile(m)
	if err != nil || len(lines) == 0 {
		return "", err
	}

	pid, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(lines[0]), "-"))
	if err != nil || pid <= 1 {
		return "", fmt.Errorf("%s begins with %q: want a process id",
			filepath.Join(m.Data, "postmaster.pid"), lines[0])
	}

	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return "", nil // left by a crash
	}

	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil &&
		!strings.HasPrefix(string(comm), "post") {
		return "", nil // the id was reused
	}

	return fmt.Sprintf("process %d", pid), nil
}

func pidFile(m *rollout.Member) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(m.Data, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(string(text), "\n"), err
}

// answers checks whether the server responds to a connection attempt. A refusal is a response, too.
func answers(ctx context.Context, m *rollout.Member) error {
	c, err := connect(ctx, m)
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		return nil
	}
	if err == nil {
		err = c.Close(ctx)
	}
	return err
}

func connect(ctx context.Context, m *rollout.Member) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return pgconn.Connect(ctx, m.Address)
}

// statusLine is the number of the line in postmaster.pid with the postmaster's state (PostgreSQL
// 15, src/include/utils/pidfile.h).
const statusLine = 8

// healthy checks that the server of this data folder can make a write durable. Without an address
// it can only check the postmaster's state.
func healthy(ctx context.Context, m *rollout.Member) error {
	if m.Address == "" {
		lines, err := pidFile(m)
		if err != nil {
			return err
		}
		if len(lines) < statusLine {
			return errors.New("postmaster.pid has no state yet")
		}
		if s := strings.TrimSpace(lines[statusLine-1]); s != "ready" && s != "standby" {
			return fmt.Errorf("the postmaster is %s", s)
		}
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, err := connect(ctx, m)
	if err != nil {
		return err
	}

	defer c.Close(ctx)
	row, err := ask(ctx, c, "SELECT system_identifier, pg_is_in_recovery() FROM pg_control_system()")
	if err != nil {
		return err
	}

	if err := checkIdentifier(m, row[0]); err != nil || row[1] == "t" {
		return err // a standby accepts no writes from clients
	}

	// A commit waits for the WAL's fsync only if its transaction has written a record.
	_,
		err = ask(ctx,
		c, "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, 'plimsoll', 'rollout')")
	return err
}

// ask runs statements and returns the last one's row.
func ask(ctx context.Context, c *pgconn.PgConn, statements string) ([]string, error) {
	results, err := c.Exec(ctx, statements).ReadAll()
	if err != nil {
		return nil, err
	}

	var row []string
	for _, r := range results {
		for _, values := range r.Rows {
			row = nil
			for _, v := range values {
				row = append(row, string(v))
			}
		}
	}

	if len(row) == 0 {
		return nil, fmt.Errorf("no answer to %q", statements)
	}

	return row, nil
}

// checkIdentifier fails if the server's system identifier differs from the one in the data folder's
// pg_control (its first eight bytes).
func checkIdentifier(m *rollout.Member, identifier string) error {
	text, err := os.ReadFile(filepath.Join(m.Data, "global", "pg_control"))
	if err != nil {
		return err
	}
	if len(text) < 8 {
		return errors.New("pg_control is truncated")
	}
	if here := strconv.FormatUint(binary.NativeEndian.Uint64(text), 10); here != identifier {
		return fmt.Errorf("the server at the address has the system identifier %s, but the data folder %s has %s: they do not belong together",
			identifier, m.Data, here)
	}
	return nil
}
