//go:build !unix

package db

// lockDir does nothing where the system has no flock: SQLite's own locks keep
// the file whole, and a second process is the operator's mistake.
func lockDir(string) (unlock func() error, err error) { return func() error { return nil }, nil }
