package db

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is which of the two databases speaks. What follows is all in which
// they differ; everything else is one SQL.
type dialect string

const (
	sqliteKind   dialect = "sqlite"
	postgresKind dialect = "postgres"
)

func init() { sqlx.BindDriver("sqlite", sqlx.DOLLAR) } // it binds $1 by number

// forUpdate locks what a SELECT reads. SQLite's writers are alone anyway.
func (d dialect) forUpdate() string {
	if d == postgresKind {
		return " FOR UPDATE"
	}
	return ""
}

// forKeyShare keeps what a SELECT reads from being locked by forUpdate, and
// lets everyone else do the same.
func (d dialect) forKeyShare() string {
	if d == postgresKind {
		return " FOR KEY SHARE"
	}
	return ""
}

// forNoKeyUpdate is forUpdate, but lets those pass who only see to it that the
// row is there: foreign keys do.
func (d dialect) forNoKeyUpdate() string {
	if d == postgresKind {
		return " FOR NO KEY UPDATE"
	}
	return ""
}

// skipLocked is forUpdate for claims: rows that another process holds are left
// to it. of names the table to lock in a join.
func (d dialect) skipLocked(of string) string {
	if d == postgresKind {
		return " FOR UPDATE OF " + of + " SKIP LOCKED"
	}
	return ""
}

// writers is how many transactions that creates share run at a time. SQLite's
// are alone; with PostgreSQL one gathers and works while the other is flushed.
func (d dialect) writers() int {
	if d == postgresKind {
		return 2
	}
	return 1
}

// place is where a row lies, until the statement ends: what one part of it has
// found another needs not look for.
func (d dialect) place() string {
	if d == postgresKind {
		return "ctid"
	}
	return "rowid"
}

// commitSoon is a part of WITH, and committedSoon the condition that has it run,
// by which a statement that stands alone is committed before it is on the disk.
// SQLite does not wait for the disk anyway.
func (d dialect) commitSoon() string {
	if d == postgresKind {
		return `, soon AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS set)`
	}
	return ""
}

func (d dialect) committedSoon() string {
	if d == postgresKind {
		return ` AND (SELECT set FROM soon) = 'off'`
	}
	return ""
}

// rows is a FROM item named x that reads the JSON array in parameter $1, one
// row an element. cols are "name type" pairs, so that one statement writes any
// number of rows.
func (d dialect) rows(cols ...string) string {
	if d == postgresKind {
		return "jsonb_to_recordset($1::jsonb) AS x(" + strings.Join(cols, ", ") + ")"
	}
	out := make([]string, len(cols))
	for i, c := range cols {
		name, _, _ := strings.Cut(c, " ")
		out[i] = fmt.Sprintf("value->>'%s' AS %s", name, name)
	}
	return "(SELECT " + strings.Join(out, ", ") + " FROM json_each($1)) AS x"
}

// ids is a FROM item named x with one column id: the JSON array of strings in
// parameter $1.
func (d dialect) ids() string {
	if d == postgresKind {
		return "(SELECT jsonb_array_elements_text($1::jsonb) AS id) AS x"
	}
	return "(SELECT value AS id FROM json_each($1)) AS x"
}

// oneOf is the condition that what stands before it is in the JSON array of
// strings in parameter $1. PostgreSQL takes a subquery for a hundred rows, and
// rather reads a whole table of some thousand than looks a hundred up.
func (d dialect) oneOf() string {
	if d == postgresKind {
		return "= ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))"
	}
	return "IN (SELECT value FROM json_each($1))"
}

// lookedUp has PostgreSQL look the rows of an UPDATE from [dialect.rows] up, for
// the reason of oneOf: param has the values of column as a JSON array. SQLite
// looks them up anyway, and would go through both arrays for each row.
func (d dialect) lookedUp(column, param string) string {
	if d == postgresKind {
		return " AND " + column + " = ANY (ARRAY(SELECT jsonb_array_elements_text(" + param + "::jsonb)))"
	}
	return " AND " + param + " IS NOT NULL"
}

// in is the condition that what stands before it is among what a query finds,
// which is but a few: PostgreSQL would read a whole table instead of looking
// them up.
func (d dialect) in(query string) string {
	if d == postgresKind {
		return "= ANY (ARRAY(" + query + "))"
	}
	return "IN (" + query + ")"
}

// moment is t as an element of a JSON array for rows; nil when zero.
func (d dialect) moment(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case d == postgresKind:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return t.UnixMicro()
}

// sessionDefaults are PostgreSQL's settings that differ from its own defaults
// where the URL does not name them.
var sessionDefaults = map[string]string{
	// It breaks a transaction off whose process was stopped in the middle of it:
	// its locks would hold up every other process for as long as it sleeps, past
	// any lease. In milliseconds.
	"idle_in_transaction_session_timeout": "4000",
	// What a page costs that is looked up by an index, against one of a table
	// that is read from end to end. The default of 4 is that of a turning disk:
	// a group of deliveries would read the whole table of subscriptions while
	// that has some thousand rows.
	"random_page_cost": "1.1",
}

func (db *DB) openPostgres(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" && u.Query().Get("host") == "" {
		return errors.New("the database URL must have the form postgres://user:password@host:5432/name?sslmode=require")
	}
	q := u.Query()
	q.Set("binary_parameters", "yes") // an ad hoc statement in one round trip
	if q.Get("sslmode") == "" {
		q.Set("sslmode", "require")
	}
	for name, value := range sessionDefaults {
		if q.Get(name) == "" {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	conn, err := sqlx.Open("postgres", u.String())
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	conn.SetMaxOpenConns(24)
	conn.SetMaxIdleConns(24)
	conn.SetConnMaxIdleTime(5 * time.Minute)
	if err := conn.PingContext(ctx); err != nil {
		return errors.Join(fmt.Errorf("PostgreSQL does not answer: %w", err), conn.Close())
	}
	db.write, db.queries = conn, queries{ExtContext: conn, kind: postgresKind, prep: newStatements(conn)}
	db.writes = db.queries
	return nil
}

const sqliteOptions = "?_txlock=immediate&_time_integer_format=unix_micro&_inttotime=1" +
	"&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=foreign_keys(1)"

func (db *DB) openSQLite(ctx context.Context, dir string) error {
	if dir == "" {
		return errors.New("the embedded database needs a data folder")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	dsn := "file:" + (&url.URL{Path: filepath.Join(dir, "flightwire.db")}).EscapedPath() + sqliteOptions
	open := func(conns int) (*sqlx.DB, error) {
		conn, err := sqlx.Open("sqlite", dsn)
		if err != nil {
			return nil, err
		}
		conn.SetMaxOpenConns(conns)
		conn.SetMaxIdleConns(conns)
		return conn, conn.PingContext(ctx)
	}
	write, err := open(1)
	if err != nil {
		return errors.Join(fmt.Errorf("open SQLite in %s: %w", dir, err), unlock())
	}
	read, err := open(4)
	if err != nil {
		return errors.Join(fmt.Errorf("open SQLite in %s: %w", dir, err), write.Close(), unlock())
	}
	db.write, db.unlock = write, unlock
	db.queries = queries{ExtContext: read, kind: sqliteKind, prep: newStatements(read)}
	db.writes = queries{ExtContext: write, kind: sqliteKind, prep: newStatements(write)}
	return nil
}

// isUnique reports whether err is the violation of a unique constraint.
func isUnique(err error) bool {
	if e, ok := errors.AsType[*pq.Error](err); ok {
		return e.Code == "23505"
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return false
}

// retryable reports whether running the transaction again may help.
func retryable(err error) bool {
	if errors.Is(err, errMoved) {
		return true
	}
	if e, ok := errors.AsType[*pq.Error](err); ok {
		return e.Code == "40P01" || e.Code == "40001" || e.Code == "25P03" // deadlock, serialization, idle for too long
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_BUSY
	}
	return false
}

func newUUID() string {
	id, err := uuid.NewV7()
	if err != nil { // only when the system has no randomness
		panic(err)
	}
	return id.String()
}
