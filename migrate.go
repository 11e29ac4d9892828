package main

import (
	"errors"
	"fmt"
	"text/tabwriter"
)

// migrateCommand are the commands about the database's schema.
type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply what is missing, under a lock."`
	Status migrateStatus `cmd:"" help:"List the migrations, and whether each has been applied."`
}

type migrateUp struct{ storage }

// Run brings the schema up to date.
func (m *migrateUp) Run(s session) (err error) {
	var c Config
	if err := m.fill(&c); err != nil {
		return err
	}
	d, err := openStorage(s, c)
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
	var c Config
	if err := m.fill(&c); err != nil {
		return err
	}
	d, err := openStorage(s, c)
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
