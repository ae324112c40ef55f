// Package server is the lab's server that is no database: it makes the same I/O as the model of the
// same name (package engine/streams) on mounted volumes, so that model and volume are compared with
// nothing between them.
//
// A write is an append to one log and the fdatasync that makes it durable. One fdatasync is under
// way at a time; appends that come meanwhile share the next one. With random_writes it is a direct
// write of a block instead, which nothing flushes: what a volume acknowledges and still loses, it
// loses here. A read is a direct read of a random block.
//
// Records hold the key, the sequence number and a checksum, so that what was acknowledged is found
// again after a loss of power, and a torn record is known for one. The log begins again at its end,
// as fio's does. The last record of a key that is overwritten so is remembered in this process: it
// was durable for as long as it was there.
//
//	record: magic 4, checksum 4 (of all that follows), length 4, lap 4, key 8, seq 8, payload
//
// A payload shorter than these 32 bytes makes a record of 32. Unlike the model's, the data that is
// read is written before: at most 512 MiB, because writing 100 GiB through a rented volume's
// throughput takes a quarter of an hour.
package server
