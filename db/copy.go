package db

import (
	"context"
	"errors"
	"strings"

	"github.com/jmoiron/sqlx"
)

// copyFrom is from how many rows on PostgreSQL takes an insert by COPY. That is
// one more round trip than a statement with a JSON parameter, and for each row
// half the work on both sides.
const copyFrom = 40

// copies reports whether an insert of n rows is to be a copy.
func (d dialect) copies(n int) bool { return d == postgresKind && n >= copyFrom }

// copyRows inserts n rows by COPY; row returns the values of the ith. A slice
// that it returns may be used for the next row too.
func (tx *Tx) copyRows(ctx context.Context, table string, columns []string, n int, row func(i int) []any) (err error) {
	stmt, err := tx.ExtContext.(*sqlx.Tx).PrepareContext(ctx, "COPY "+table+" ("+strings.Join(columns, ", ")+") FROM STDIN")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for i := range n {
		if _, err := stmt.ExecContext(ctx, row(i)...); err != nil {
			return err
		}
	}
	_, err = stmt.ExecContext(ctx)
	return err
}
