package places

import (
	"archive/zip"
	"bytes"
	"embed"
	"io"
	"io/fs"
	"log/slog"
	"sync"
)

// What `make assets` has put there; NOTICE.md always is.
//
//go:embed assets
var built embed.FS

// Atlas has the names of the countries in many languages, and their flags. It
// is safe for concurrent use, and reads only what is asked for: languages are
// kept once they were, flags are not.
type Atlas struct {
	names func() *languages
	flags func() map[string]*zip.File // by shape and file name; nil: none
}

// NewAtlas returns the atlas of names.zip and flags.zip of a folder. It works
// without either: then names are English, and flags are plain drawings.
func NewAtlas(assets fs.FS) *Atlas {
	return &Atlas{
		names: sync.OnceValue(func() *languages { return openNames(assets) }),
		flags: sync.OnceValue(func() map[string]*zip.File { return openZip(assets, "flags.zip") }),
	}
}

// BuiltIn returns the atlas of what was there when the program was built.
var BuiltIn = sync.OnceValue(func() *Atlas {
	assets, err := fs.Sub(built, "assets")
	if err != nil {
		panic(err) // the name is no path
	}
	return NewAtlas(assets)
})

// openZip returns the files of an archive by their names: none when it is not
// there, or is none.
func openZip(assets fs.FS, name string) map[string]*zip.File {
	f, err := assets.Open(name)
	if err != nil {
		return nil
	}
	var archive *zip.Reader
	if at, ok := f.(io.ReaderAt); ok { // an embedded file stays where it is
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			archive, err = zip.NewReader(at, info.Size())
		}
	} else {
		var all []byte
		if all, err = io.ReadAll(f); err == nil {
			archive, err = zip.NewReader(bytes.NewReader(all), int64(len(all)))
		}
	}
	if err != nil {
		slog.Error("an archive that was built in is broken", "name", name, "error", err)
		return nil
	}
	files := make(map[string]*zip.File, len(archive.File))
	for _, file := range archive.File {
		files[file.Name] = file
	}
	return files
}

// read returns a file of an archive, nil when there is none.
func read(file *zip.File) []byte {
	if file == nil {
		return nil
	}
	r, err := file.Open()
	if err == nil {
		defer func() { _ = r.Close() }()
		var text []byte
		if text, err = io.ReadAll(r); err == nil { // which compares the checksum
			return text
		}
	}
	slog.Error("a file that was built in is broken", "name", file.Name, "error", err)
	return nil
}
