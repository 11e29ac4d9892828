//go:build unix

package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// lockDir makes sure that one process at a time uses the SQLite file in dir.
// The lock goes with the process, however it ends.
func lockDir(dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "flightwire.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another flightwire process uses the data folder %s; stop it or choose another folder", dir)
		}
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return sync.OnceValue(f.Close), nil // a second Close is no error
}
