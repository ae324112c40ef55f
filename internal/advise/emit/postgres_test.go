package emit_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A pgSetting is a line of the file as the server read it, with the value in effect.
type pgSetting struct {
	name, value, shown, err string
	applied                 bool
}

// settingsOf queries a starting server for the lines that it read from 90-plimsoll.conf.
func settingsOf(ctx context.Context, t *testing.T, socket string) []pgSetting {
	t.Helper()
	var conn *pgx.Conn

	var err error
	for range 200 {
		if conn, err = pgx.Connect(ctx, "host="+socket+" user=me dbname=postgres"); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}

	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}

	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT name, setting, current_setting(name), coalesce(error, ''), applied FROM pg_file_settings WHERE sourcefile LIKE '%/90-plimsoll.conf'`)
	if err != nil {
		t.Fatal(err)
	}

	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (pgSetting, error) {
		var s pgSetting
		err := r.Scan(&s.name, &s.value, &s.shown, &s.err, &s.applied)
		return s, err
	})
	if err != nil {
		t.Fatal(err)
	}

	return out
}
