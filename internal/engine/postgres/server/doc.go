// Package server runs a real PostgreSQL server on a machine's volumes ([New]), or asks one that
// runs already ([NewExisting]), whose settings are its own.
//
// The server is Debian's (package postgresql), or another that is on PATH or named by [EnvBin]. It
// is made anew on the volume data, with its log on the volume wal if there is one, listens on
// nothing but a socket in the scratch folder, and has the scenario's settings under their own
// names. Two are not the scenario's: max_connections has three more, for who loads and watches, and
// log_checkpoints is on, since that is how checkpoints are seen to the millisecond and for nothing.
//
// # What is there
//
// pgbench_accounts (id, seq, filler) with a primary key, and pgbench_history without one, as
// pgbench has them and as the model does: rows of the configured size with their header, at least
// 41 bytes. Rows are loaded by COPY; then the index is made, both are vacuumed, shared buffers are
// filled (pg_prewarm, where it is installed) with index and table, and a checkpoint ends the start,
// which is where the model begins.
//
// # What an operation is
//
// An update or push changes seq and filler of a row and inserts one into history, in one
// transaction and one round trip; an insert adds a row; a read gets one, a scan as many as it says.
// Rows keep the configured size, whatever size an operation carries. Statements are prepared. Where
// the workload has more connections than max_connections, they share those, as through a pool.
//
// Autovacuum runs, as it does everywhere, which the model leaves out.
package server
