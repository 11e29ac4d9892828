package db

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string
	Applied bool
}

func (db *DB) provider() (*goose.Provider, error) {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	if db.kind == sqliteKind {
		others, err := fs.Glob(dir, "*.postgres.sql") // steps that PostgreSQL alone needs
		if err != nil {
			return nil, err
		}
		return goose.NewProvider(goose.DialectSQLite3, db.write.DB, dir, goose.WithExcludeNames(others))
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // one process migrates, the others wait, up to 300 times 1 s
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db.write.DB, dir, goose.WithSessionLocker(locker))
}

// MigrateUp applies what is missing, under a lock, and returns how many steps
// that were.
func (db *DB) MigrateUp(ctx context.Context) (int, error) {
	p, err := db.provider()
	if err != nil {
		return 0, fmt.Errorf("migrate: %w", err)
	}
	done, err := p.Up(ctx)
	if err != nil {
		return len(done), fmt.Errorf("migrate: %w", err)
	}
	return len(done), nil
}

// Migrations lists every step and whether it has been applied.
func (db *DB) Migrations(ctx context.Context) ([]Migration, error) {
	p, err := db.provider()
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	status, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	list := make([]Migration, len(status))
	for i, s := range status {
		list[i] = Migration{s.Source.Version, s.Source.Path, s.State == goose.StateApplied}
	}
	return list, nil
}

// Current reports whether every migration has been applied.
func (db *DB) Current(ctx context.Context) (bool, error) {
	p, err := db.provider()
	if err != nil {
		return false, err
	}
	pending, err := p.HasPending(ctx)
	return !pending, err
}
