// Package server runs a real PostgreSQL server on a machine's volumes ([New]), or uses an existing
// one ([NewExisting]), which keeps its own settings.
//
// The server is Debian's (package postgresql), or another on PATH or named by [EnvBin]. Each run
// creates it on the volume data, with its log on the volume wal if there is one. It listens only on
// a socket in the scratch folder, and has the scenario's settings under their own names. Two
// settings differ: max_connections has three more, for loading and watching, and log_checkpoints is
// on, because that shows checkpoints to the millisecond at no cost.
//
// # Tables
//
// pgbench_accounts (id, seq, filler) with a primary key, and pgbench_history without one, as in
// pgbench and in the model. Rows have the configured size including their header, at least 41
// bytes. COPY loads the rows. Then the index is created, both tables are vacuumed, shared buffers
// are filled with index and table (by pg_prewarm, if it is installed), and the start ends with a
// checkpoint. The model begins in the same state.
//
// # What an operation is
//
// An update or push changes seq and filler of a row and inserts one into history, in one
// transaction and one round trip; an insert adds a row; a read gets one, a scan as many as it says.
// Rows keep the configured size, whatever size an operation has. Statements are prepared. If the
// workload has more connections than max_connections, they share those, as through a pool.
//
// Autovacuum runs, as in production; the model leaves it out.
package server
