// Package pglog reads PostgreSQL's log: stderr with any log_line_prefix, csvlog and jsonlog, also as
// CloudNativePG wraps it. It reads these events, each as the series of package serverlog:
//
//	postgres_log_checkpoint*              checkpoints and restartpoints, from their start to their end
//	postgres_log_checkpoint_write_seconds_total, _sync_seconds_total, _files_total, _buffers_total
//	                                      their phases, files synced and buffers, added at their end
//	postgres_log_checkpoint_file_sync*    the longest sync of one file in each of them
//	postgres_log_checkpoints_timed_total, postgres_log_checkpoints_wal_total
//	                                      why they started; those by hand are in neither
//	postgres_log_slow_commit*             COMMIT of 100 ms and more
//	postgres_log_slow_write*              INSERT, UPDATE, DELETE, MERGE and COPY of 100 ms and more
//	postgres_log_slow_statement*          other statements of 100 ms and more
//	postgres_log_lock_wait*               locks acquired after deadlock_timeout
//	postgres_log_temporary_file_bytes_total
//	postgres_log_autovacuum*              runs of autovacuum and autoanalyze that were logged
//	postgres_log_archive_failure_total, postgres_log_no_space_total, postgres_log_fsync_failure_total,
//	postgres_log_replication_timeout_total, postgres_log_crash_total, postgres_log_start_total
//
//	postgres_log_line_total               lines that may be about one of these
//
// What is logged depends on settings, so a series exists only if the log has such an event. The lines
// are always counted: they show that a log was read.
package pglog

import (
	"bytes"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/serverlog"
)

// The indexes of the series.
const (
	checkpoint = iota
	checkpointWrite
	checkpointSync
	checkpointFiles
	checkpointBuffers
	fileSync
	timed
	byWAL
	slowCommit
	slowWrite
	slowStatement
	lockWait
	tempBytes
	autovacuum
	archiveFailure
	noSpace
	fsyncFailure
	replicationTimeout
	crash
	start
	line
)

// Format is PostgreSQL's log.
var Format = serverlog.Format{
	Kind: "postgres-log", Engine: "postgres", Product: "PostgreSQL",
	Series: []serverlog.Series{
		checkpoint:         {Name: "postgres_log_checkpoint", Timed: true},
		checkpointWrite:    {Name: "postgres_log_checkpoint_write_seconds"},
		checkpointSync:     {Name: "postgres_log_checkpoint_sync_seconds"},
		checkpointFiles:    {Name: "postgres_log_checkpoint_files"},
		checkpointBuffers:  {Name: "postgres_log_checkpoint_buffers"},
		fileSync:           {Name: "postgres_log_checkpoint_file_sync", Timed: true},
		timed:              {Name: "postgres_log_checkpoints_timed"},
		byWAL:              {Name: "postgres_log_checkpoints_wal"},
		slowCommit:         {Name: "postgres_log_slow_commit", Timed: true},
		slowWrite:          {Name: "postgres_log_slow_write", Timed: true},
		slowStatement:      {Name: "postgres_log_slow_statement", Timed: true},
		lockWait:           {Name: "postgres_log_lock_wait", Timed: true},
		tempBytes:          {Name: "postgres_log_temporary_file_bytes"},
		autovacuum:         {Name: "postgres_log_autovacuum", Timed: true},
		archiveFailure:     {Name: "postgres_log_archive_failure"},
		noSpace:            {Name: "postgres_log_no_space"},
		fsyncFailure:       {Name: "postgres_log_fsync_failure"},
		replicationTimeout: {Name: "postgres_log_replication_timeout"},
		crash:              {Name: "postgres_log_crash"},
		start:              {Name: "postgres_log_start"},
		line:               {Name: "postgres_log_line", Always: true},
	},
	Is: is, Stamp: stamp, Keep: keep,
	New: func(e *serverlog.Events) serverlog.Parser { return &parser{events: e} },
}

// words lists strings, at least one of which is in every line about an event. They contain no quotes, which
// JSON escapes.
var words = serverlog.WordsOf("checkpoint", "restartpoint", "duration: ", "still waiting for",
	" acquired ", "temporary file", "automatic vacuum", "automatic analyze", "elapsed: ",
	"archive command failed", "could not write", "No space left", "could not fsync",
	"terminating walsender", "replication timeout", "was interrupted", "crash of another server process",
	"not properly shut down", "starting PostgreSQL")

// languages are beginnings of messages in other languages, by language. Their lines cannot be read.
var languages = []struct {
	name  string
	words serverlog.Words
}{
	{"German", serverlog.WordsOf("Checkpoint beginnt", "Checkpoint komplett", "Dauer: ",
		"Datenbanksystem ")},
	{"French", serverlog.WordsOf("but du checkpoint", "checkpoint termin", "durée : ",
		"le système de bases de données")},
	{"Spanish", serverlog.WordsOf("empezando checkpoint", "checkpoint completo", "duración: ",
		"el sistema de bases de datos")},
	{"Italian", serverlog.WordsOf("avvio checkpoint", "durata: ", "il database è")},
	{"Portuguese", serverlog.WordsOf("iniciando ponto de", "duração: ", "o sistema de banco de dados")},
	{"Polish", serverlog.WordsOf("czas trwania: ", "system bazy danych")},
	{"Russian", serverlog.WordsOf("СООБЩЕНИЕ: ", "ОШИБКА: ")},
	{"Chinese", serverlog.WordsOf("日志: ", "错误: ")},
	{"Japanese", serverlog.WordsOf("チェックポイント", "データベースシステム")},
	{"Korean", serverlog.WordsOf("로그: ", "오류: ")},
	{"Swedish", serverlog.WordsOf("checkpoint startar", "varaktighet: ")},
	{"Turkish", serverlog.WordsOf("süre: ", "veritabanı sistemi")},
}

func keep(raw []byte) bool {
	return words.In(raw) || foreign(raw) != ""
}

// foreign returns the language of a line that is not in English, or "".
func foreign(text []byte) string {
	for _, l := range languages {
		if l.words.In(text) {
			return l.name
		}
	}
	return ""
}

var (
	// severities end the prefix of a line, whatever log_line_prefix is. PostgreSQL writes two spaces
	// after the colon; a pipeline may have removed one.
	severities = serverlog.WordsOf("LOG: ", "ERROR: ", "FATAL: ", "PANIC: ", "WARNING: ", "DETAIL: ",
		"HINT: ", "CONTEXT: ", "STATEMENT: ", "NOTICE: ", "СООБЩЕНИЕ: ", "ОШИБКА: ", "日志: ", "错误: ", "로그: ",
		"오류: ", "FEHLER: ", "ERREUR: ")
	csvLog   = serverlog.WordsOf(",LOG,00000,", ",ERROR,", ",FATAL,", ",PANIC,", ",WARNING,")
	severity = []byte(`"error_severity":`)
	unit     = serverlog.WordsOf(" postgres[", " postgresql[", " postgresql@",
		`"SYSLOG_IDENTIFIER":"postgres"`)
)

// prefixMax is longer than a log_line_prefix with a long application name.
const prefixMax = 300

// is recognises a line by a time, a severity and its two spaces, or by the fields of csvlog and
// jsonlog.
func is(raw, text []byte) bool {
	switch {
	case len(text) == 0:
		return false
	case text[0] == '{':
		return bytes.Contains(text, severity)
	}

	beginning := text[:min(len(text), prefixMax)]
	at, timed := stamp(text)
	if _, ok := csvMessage(text); ok && at.Month != 0 {
		return true
	}

	named := false
	for _, n := range unit {
		named = named || len(text) < len(raw) && bytes.Contains(raw, n)
	}
	if !timed && !named {
		return false
	}

	_, _, ok := cutSeverity(beginning)
	return ok && (named || bytes.Contains(beginning, []byte(":  ")))
}

// cutSeverity separates a line at its severity.
func cutSeverity(text []byte) (prefix, message []byte, ok bool) {
	best := -1
	for _, n := range severities {
		i := bytes.Index(text[:min(len(text), prefixMax)], n)
		if i >= 0 && (best < 0 || i < best) && (i == 0 || text[i-1] == ' ' || text[i-1] == ':' ||
			text[i-1] == ']') {
			best, message = i, text[i+len(n):]
		}
	}
	if best < 0 {
		return nil, nil, false
	}
	return text[:best], bytes.TrimLeft(message, " "), true
}

// stamp returns a line's own time: %t, %m, or %n of log_line_prefix, wherever it is in the prefix,
// or that of csvlog and jsonlog.
func stamp(text []byte) (at lineprefix.Time, ok bool) {
	beginning := text[:min(len(text), prefixMax)]
	if len(text) > 0 && text[0] == '{' {
		for _, key := range []string{`"log_time":"`, `"timestamp":"`} {
			if _, rest, found := bytes.Cut(beginning[:min(len(beginning), prefixMax)], []byte(key)); found {
				return calendar(rest)
			}
		}
		// CloudNativePG puts its own fields before the record.
		if _, rest, found := bytes.Cut(text, []byte(`"log_time":"`)); found {
			return calendar(rest)
		}
		return at, false
	}

	// The time must be in the prefix: a message may contain one too.
	if isCSV(text) {
		beginning = beginning[:bytes.IndexByte(beginning, ',')]
	} else if prefix, _, found := cutSeverity(text); found {
		beginning = prefix
	}

	for i := range beginning {
		if i+len("2006-01-02 15:04:05") > len(beginning) {
			break
		}
		if beginning[i] == '-' && i >= 4 && beginning[i+3] == '-' {
			return calendar(beginning[i-4:])
		}
	}

	// %n: seconds since 1970, with milliseconds.
	if end := bytes.IndexAny(beginning, " [:]"); end >= len("1767607200") {
		return lineprefix.Line(beginning[:end])
	}

	return at, false
}

// calendar reads "2026-01-05 10:00:00.123 CET". PostgreSQL writes the abbreviation of a zone, which is
// ambiguous except for UTC, or an offset of hours.
func calendar(b []byte) (at lineprefix.Time, ok bool) {
	const least = len("2006-01-02 15:04:05")
	if len(b) < least {
		return at, false
	}

	end := least
	for end < len(b) && (b[end] == '.' || b[end] >= '0' && b[end] <= '9') {
		end++
	}
	if at, ok = lineprefix.Line(b[:end]); !ok {
		return at, false
	}

	zone := bytes.TrimLeft(b[end:], " ")
	// Other abbreviations, such as CST, stand for several zones: the reader's --tz decides.
	switch {
	case bytes.HasPrefix(zone, []byte("UTC")), bytes.HasPrefix(zone, []byte("GMT")), bytes.HasPrefix(zone,
		[]byte("Z")):
		at.HasZone = true
	case len(zone) >= 3 && (zone[0] == '+' || zone[0] == '-') && zone[1] >= '0' && zone[1] <= '1' &&
		zone[2] >= '0' &&
		zone[2] <= '9':
		at.HasZone, at.ZoneS = true, (int(zone[1]-'0')*10+int(zone[2]-'0'))*int(time.Hour/time.Second)
		if zone[0] == '-' {
			at.ZoneS = -at.ZoneS
		}
	}

	return at, true
}
