// Package db keeps the truth: flights and their updates, subscriptions, events
// and delivery attempts, accounts and keys, in SQLite or PostgreSQL.
//
// It promises that one set of SQL serves both databases, that every change of
// state is one transaction, that claims are fenced by tokens and judged by the
// database's clock, and that driver errors come out as *flight.Error with
// CodeNotFound or CodeConflict where that is what they mean.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/flightwire/flightwire/flight"
)

// Config says which database to open. The zero Config is not usable: give a
// URL or a Dir.
type Config struct {
	URL  string   // postgres://…; empty: SQLite in Dir
	Dir  string   // folder of the SQLite file, made when missing
	Keys []string // 32-byte keys in base64: secrets are sealed with the first and opened with any

	// BeforeCommit is called with the transaction's name before each commit.
	// Tests kill the process there; nil does nothing.
	BeforeCommit func(op string)
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	queries
	write        *sqlx.DB     // transactions; the same pool as queries' on PostgreSQL
	offset       atomic.Int64 // database clock minus ours, nanoseconds
	seal         *sealer
	snapshots    *snapshotCache
	writes       queries // statements that are transactions of their own
	creates      gathering[creation]
	accepts      gathering[accepting]
	beforeCommit func(string)
	unlock       func() error // gives the SQLite file back
}

// queries are the reads and statements that DB and Tx share.
type queries struct {
	sqlx.ExtContext
	kind dialect
	prep *statements

	missing *[]string // in a transaction: texts that were not prepared yet
}

// Tx is a running transaction. Writes that must not stand alone are its methods.
type Tx struct {
	queries
	db *DB
}

// Open opens the database and checks that it answers. It does not migrate.
func Open(ctx context.Context, c Config) (*DB, error) {
	seal, err := newSealer(c.Keys)
	if err != nil {
		return nil, err
	}
	db := &DB{seal: seal, snapshots: newSnapshotCache(), beforeCommit: c.BeforeCommit}
	if db.beforeCommit == nil {
		db.beforeCommit = func(string) {}
	}
	if c.URL != "" {
		err = db.openPostgres(ctx, c.URL)
	} else {
		err = db.openSQLite(ctx, c.Dir)
	}
	if err != nil {
		return nil, err
	}
	if err := db.SyncClock(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close releases the connections and the SQLite file.
func (db *DB) Close() error {
	err := errors.Join(db.prep.close(), db.writes.prep.close(), db.write.Close())
	if r, ok := db.ExtContext.(*sqlx.DB); ok && r != db.write {
		err = errors.Join(err, r.Close())
	}
	if db.kind == postgresKind {
		err = nil // the server may have dropped a connection before us, and nothing is lost with it
	}
	if db.unlock != nil {
		err = errors.Join(err, db.unlock())
	}
	return err
}

// Kind returns "sqlite" or "postgres".
func (db *DB) Kind() string { return string(db.kind) }

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return db.write.PingContext(ctx) }

// Now returns the wall time by the database's clock, which judges every lease
// whichever process asks.
func (db *DB) Now() time.Time {
	return time.Now().Add(time.Duration(db.offset.Load())).UTC().Truncate(time.Microsecond)
}

// SyncClock measures how far this process's clock is off the database's. Each
// process calls it now and then.
func (db *DB) SyncClock(ctx context.Context) error {
	if db.kind == sqliteKind {
		return nil // one process, one clock
	}
	before := time.Now()
	var at time.Time
	if err := db.write.GetContext(ctx, &at, `SELECT clock_timestamp()`); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	after := time.Now()
	db.offset.Store(int64(at.Sub(before.Add(after.Sub(before) / 2))))
	return nil
}

// tx runs fn in a transaction named op and commits it when fn returns nil. A
// transaction that PostgreSQL broke off over a deadlock is run again, so fn
// must leave no trace outside it.
func (db *DB) tx(ctx context.Context, op string, fn func(*Tx) error) error {
	return db.tryAgain(ctx, op, func() error { return db.tryTx(ctx, op, fn) })
}

// tryAgain runs what PostgreSQL may break off until it has not.
func (db *DB) tryAgain(ctx context.Context, op string, run func() error) error {
	for try := 0; ; try++ {
		err := run()
		if err == nil || try == 4 || !retryable(err) {
			return domainError(ctx, op, err)
		}
		slog.DebugContext(ctx, "transaction run again", "op", op, "try", try+1, "error", err)
		select {
		case <-ctx.Done():
			return domainError(ctx, op, err)
		case <-time.After(time.Duration(rand.IntN(10<<try)+1) * time.Millisecond):
		}
	}
}

func (db *DB) tryTx(ctx context.Context, op string, fn func(*Tx) error) (err error) {
	t, err := db.write.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // after a commit it does nothing
	var missing []string
	if err := fn(&Tx{queries{t, db.kind, db.writes.prep, &missing}, db}); err != nil {
		if err == errNothing {
			return nil
		}
		return err
	}
	db.beforeCommit(op)
	if err := t.Commit(); err != nil {
		return err
	}
	db.writes.prep.prepareMissing(ctx, missing)
	return nil
}

// errNothing ends a transaction that found nothing to do: there is nothing to
// commit.
var errNothing = errors.New("nothing to do")

// get reads one row into dest; sql.ErrNoRows when there is none.
func (q queries) get(ctx context.Context, dest any, query string, args ...any) error {
	s, err := q.prepared(ctx, query)
	if err != nil {
		return err
	}
	if s == nil {
		return sqlx.GetContext(ctx, q, dest, query, args...)
	}
	return s.GetContext(ctx, dest, args...)
}

// sel reads every row into dest, a pointer to a slice.
func (q queries) sel(ctx context.Context, dest any, query string, args ...any) error {
	s, err := q.prepared(ctx, query)
	if err != nil {
		return err
	}
	if s == nil {
		return sqlx.SelectContext(ctx, q, dest, query, args...)
	}
	return s.SelectContext(ctx, dest, args...)
}

// exec runs a statement and returns how many rows it touched.
func (q queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := q.prepared(ctx, query)
	if err != nil {
		return 0, err
	}
	run := q.ExecContext
	if s != nil {
		run = func(ctx context.Context, _ string, args ...any) (sql.Result, error) {
			return s.ExecContext(ctx, args...)
		}
	}
	r, err := run(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// domainError gives an error the code that a caller can act on.
func domainError(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*flight.Error](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("db %s: %w", op, ctx.Err())
	}
	if errors.Is(err, sql.ErrNoRows) {
		return &flight.Error{Code: flight.CodeNotFound, Message: "There is no such thing.", Cause: err}
	}
	if isUnique(err) {
		return &flight.Error{Code: flight.CodeConflict, Message: "It exists already.", Cause: err}
	}
	return fmt.Errorf("db %s: %w", op, err)
}

// newID returns a fresh id under a prefix, in order of time.
func newID(prefix string) string { return prefix + strings.ReplaceAll(newUUID(), "-", "") }
