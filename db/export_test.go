package db

import "context"

// Peek reads rows straight from the tables into dest, a pointer to a slice of
// structs with db tags or of scalars.
func (db *DB) Peek(ctx context.Context, dest any, query string, args ...any) error {
	return db.sel(ctx, dest, query, args...)
}

// Poke runs a statement that no transaction of the package makes.
func (db *DB) Poke(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := db.tx(ctx, "poke", func(tx *Tx) (err error) {
		n, err = tx.exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Locked runs fn while the row of a flight is locked.
func (db *DB) Locked(ctx context.Context, flightID string, fn func() error) error {
	return db.tx(ctx, "locked", func(tx *Tx) error {
		var id string
		if err := tx.get(ctx, &id, `SELECT id FROM flights WHERE id = $1`+tx.kind.forUpdate(), flightID); err != nil {
			return err
		}
		return fn()
	})
}

// MigrateDown takes every migration back.
func (db *DB) MigrateDown(ctx context.Context) (int, error) {
	p, err := db.provider()
	if err != nil {
		return 0, err
	}
	done, err := p.DownTo(ctx, 0)
	return len(done), err
}

// Token returns the token under which an attempt was claimed.
func (a Attempt) Token() string { return a.token }

// Sealer, NewSealer and the retry of transactions, for tests.
type Sealer = sealer

var NewSealer = newSealer

// Again is an error that makes a transaction run again.
var Again = errMoved

// InTx runs fn in a transaction of its own.
func (db *DB) InTx(ctx context.Context, op string, fn func() error) error {
	return db.tx(ctx, op, func(*Tx) error { return fn() })
}

// Rekey opens and seals with other keys from here on, as after a restart.
func (db *DB) Rekey(keys ...string) error {
	seal, err := newSealer(keys)
	db.seal = seal
	return err
}

// ReencryptBatch is how many secrets are sealed anew in one transaction.
const ReencryptBatch = reencryptBatch

// Fold folds the ledger of an account.
func (db *DB) Fold(ctx context.Context, account string) error {
	return db.tx(ctx, "fold", func(tx *Tx) error { return tx.fold(ctx, []string{account}) })
}

// HistoryEnd is historyEnd, for tests.
var HistoryEnd = historyEnd

// Forget empties the cache of snapshots, as in a process that has just started.
func (db *DB) Forget() { db.snapshots = newSnapshotCache() }

// Pack and Unpack, for tests.
var (
	Pack   = pack
	Unpack = unpack
)

// ClaimStatement is what ClaimPolls runs; its parameters are the world time, the
// wall time, the limit, the token and the end of the lease.
func (db *DB) ClaimStatement() string { return db.kind.claimDue() }

// Gathering is how many answers wait for a transaction to share.
func (db *DB) Gathering() int {
	db.accepts.mu.Lock()
	defer db.accepts.mu.Unlock()
	return len(db.accepts.waiting)
}
