// Package flight is the domain: what a flight leg is, when two snapshots of it
// differ, what its subscribers are told, when it is looked at next, and how a
// subscription lives and ends.
//
// It promises to be pure. It imports the standard library only, does no
// input or output, and takes the time and every random number as an argument,
// so each decision here can be tested as a table. (Time zones come from the
// machine's database or the one that the program embeds.)
//
// Throughout the package an empty string, a nil pointer and a zero [Time] mean
// that a fact is unknown; encoders leave it out.
package flight
