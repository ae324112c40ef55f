// Package server is the lab's server that is not a database: it makes the same I/O as the model of
// the same name (package engine/streams) on mounted volumes, so that model and volume can be
// compared directly.
//
// A write is an append to one log and the fdatasync that makes it durable. One fdatasync runs at a
// time; appends that arrive meanwhile share the next one. With random_writes it is a direct write
// of a block instead, without any flush: if a volume acknowledges data and loses it, the data is
// lost here too. A read is a direct read of a random block.
//
// Records contain the key, the sequence number and a checksum, so that acknowledged writes can be
// found after a power loss, and a torn record is recognised. The log starts again at its end, as
// fio's does. When that overwrites the last record of a key, this process remembers the record: it
// was durable while it existed.
//
//	record: magic 4, checksum 4 (of all that follows), length 4, lap 4, key 8, seq 8, payload
//
// A payload shorter than these 32 bytes makes a record of 32. Unlike in the model, the data that is
// read is written first: at most 512 MiB, because writing 100 GiB at a rented volume's throughput
// takes a quarter of an hour.
package server
