// Package server runs a real PostgreSQL server on a machine's volumes ([New]), or uses an existing
// one ([NewExisting]), which keeps its own settings.
//
// The server is Debian's (package postgresql), another one on PATH, or the one that [EnvBin] names.
// Each run creates it on the volume data, with its log on the volume wal if there is one. It
// listens only on a socket in the scratch folder and has the scenario's settings under the same
// names. Two settings differ: max_connections is three higher, for loading and watching, and
// log_checkpoints is on, because it shows checkpoints to the millisecond at no cost.
//
// # Tables
//
// As in pgbench and in the model there are pgbench_accounts (id, seq, filler) with a primary key
// and pgbench_history without one. Rows have the configured size including their header, at least
// 41 bytes. COPY loads the rows. Then the server creates the index, vacuums both tables, fills
// shared buffers with index and table (by pg_prewarm, if it is installed), and finishes with a
// checkpoint. The model starts in the same state.
//
// # Operations
//
// An update or push changes seq and filler of a row and inserts a row into history, in one
// transaction and one round trip. An insert adds a row, a read gets one, a scan gets the requested
// number. Rows keep the configured size, whatever the size of the operation. Statements are
// prepared. If the workload has more connections than max_connections allows, they share the available ones,
// as through a pool.
//
// Autovacuum runs, as in production; the model does not include it.
package server
