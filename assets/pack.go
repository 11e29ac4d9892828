//go:build ignore

// Command pack makes the two archives that package places embeds: flags.zip of
// the images of flag-icons, and names.zip of what names.mjs prints, which it
// reads from its input. `make assets` runs it.
package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	flags     = "assets/node_modules/flag-icons/flags"
	dest      = "flight/places/assets"
	countries = "flight/places/data/countries.csv"
)

func main() {
	if err := run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(names io.Reader) error {
	csv, err := os.ReadFile(countries)
	if err != nil {
		return err
	}
	var codes []string
	for _, line := range strings.Split(strings.TrimSpace(string(csv)), "\n")[1:] {
		code, _, _ := strings.Cut(line, ",")
		codes = append(codes, code)
	}
	if err := archive("names.zip", func(z *zip.Writer) error { return packNames(z, names, len(codes)) }); err != nil {
		return err
	}
	return archive("flags.zip", func(z *zip.Writer) error { return packFlags(z, codes) })
}

// archive writes an archive whole or not at all. It carries no times, so that
// the same content is the same file.
func archive(name string, fill func(*zip.Writer) error) (err error) {
	f, err := os.CreateTemp("assets", name+".*.part") // not where it could be embedded
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // does nothing once it has its name
	z := zip.NewWriter(f)
	if err := errors.Join(fill(z), z.Close(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dest, name))
}

func add(z *zip.Writer, name string, content []byte) error {
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}

// packFlags takes the images of those codes in both shapes.
func packFlags(z *zip.Writer, codes []string) error {
	for _, shape := range []string{"4x3", "1x1"} {
		for _, code := range codes {
			file := shape + "/" + strings.ToLower(code) + ".svg"
			svg, err := os.ReadFile(filepath.Join(flags, file))
			if err != nil {
				return err
			}
			if err := add(z, file, svg); err != nil {
				return err
			}
		}
	}
	return nil
}

// packNames makes a file of each list, named after the first language that has
// it, and one that says which language has which.
func packNames(z *zip.Writer, in io.Reader, codes int) error {
	var lists []struct {
		Languages []string
		Names     [][2]string
	}
	if err := json.NewDecoder(in).Decode(&lists); err != nil {
		return fmt.Errorf("the names: %w", err)
	}
	var index strings.Builder
	for _, l := range lists {
		if len(l.Languages) == 0 || len(l.Names) != codes {
			return fmt.Errorf("a list of %d names for %v", len(l.Names), l.Languages)
		}
		var text strings.Builder
		for _, pair := range l.Names {
			text.WriteString(pair[0] + "," + pair[1] + "\n")
		}
		if err := add(z, l.Languages[0]+".txt", []byte(text.String())); err != nil {
			return err
		}
		for _, language := range l.Languages {
			index.WriteString(language + "," + l.Languages[0] + "\n")
		}
	}
	return add(z, "languages.txt", []byte(index.String()))
}
