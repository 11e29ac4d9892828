package db

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/jmoiron/sqlx"
)

// statementsMost bounds the statements that are kept prepared.
const statementsMost = 512

// statements are the prepared statements of one pool, by their text. Texts hold
// no values, so there are as many as this package has queries. To parse and plan
// a statement costs PostgreSQL more than to run most of them.
type statements struct {
	pool *sqlx.DB
	mu   sync.RWMutex
	all  map[string]*sqlx.Stmt
}

func newStatements(pool *sqlx.DB) *statements {
	return &statements{pool: pool, all: make(map[string]*sqlx.Stmt)}
}

// known returns the statement of a text; nil when there is none yet.
func (s *statements) known(query string) *sqlx.Stmt {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[query]
}

// prepare makes the statement of a text, which database/sql prepares on each
// connection that runs it. It returns nil where there are too many.
func (s *statements) prepare(ctx context.Context, query string) (*sqlx.Stmt, error) {
	if stmt := s.known(query); stmt != nil {
		return stmt, nil
	}
	stmt, err := s.pool.PreparexContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.all[query]; other != nil || len(s.all) >= statementsMost {
		return other, stmt.Close()
	}
	s.all[query] = stmt
	return stmt, nil
}

func (s *statements) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all error
	for query, stmt := range s.all {
		all = errors.Join(all, stmt.Close())
		delete(s.all, query)
	}
	return all
}

// prepared returns the statement of a text for the pool or transaction at hand;
// nil where it is to be run as it is. A transaction has its connection, and
// must not wait for another: what it finds missing is prepared after it.
func (q queries) prepared(ctx context.Context, query string) (*sqlx.Stmt, error) {
	tx, ok := q.ExtContext.(*sqlx.Tx)
	if !ok {
		return q.prep.prepare(ctx, query)
	}
	if stmt := q.prep.known(query); stmt != nil {
		return tx.StmtxContext(ctx, stmt), nil
	}
	*q.missing = append(*q.missing, query)
	return nil, nil
}

// prepareMissing prepares what a transaction has found missing. If that fails,
// so will whoever comes next, or not.
func (s *statements) prepareMissing(ctx context.Context, queries []string) {
	for _, query := range queries {
		if _, err := s.prepare(ctx, query); err != nil {
			slog.DebugContext(ctx, "a statement could not be prepared", "error", err)
		}
	}
}
