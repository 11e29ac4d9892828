package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/flightwire/flightwire/db"
)

// migrateCommand are the commands about the database's schema.
type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply what is missing, under a lock."`
	Status migrateStatus `cmd:"" help:"List the migrations, and whether each has been applied."`
}

// open opens the database that the settings name; the caller closes it.
func (s storage) open(ctx context.Context) (*db.DB, error) {
	var c Config
	if err := s.fill(&c); err != nil {
		return nil, err
	}
	return openStorage(ctx, c)
}

type migrateUp struct{ storage }

// Run brings the schema up to date.
func (m *migrateUp) Run(s session) (err error) {
	d, err := m.open(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	n, err := d.MigrateUp(s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.stdout, "%d applied, the schema is current\n", n)
	return err
}

type migrateStatus struct{ storage }

// Run lists the migrations.
func (m *migrateStatus) Run(s session) (err error) {
	d, err := m.open(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	list, err := d.Migrations(s)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, step := range list {
		state := "missing"
		if step.Applied {
			state = "applied"
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\n", step.Version, step.Name, state)
	}
	return w.Flush()
}
