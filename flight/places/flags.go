package places

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// Shape is the shape of a flag's image: its width to its height.
type Shape string

// The shapes there are.
const (
	Oblong Shape = "4x3"
	Square Shape = "1x1"
)

// Valid reports whether there are flags of that shape.
func (s Shape) Valid() bool { return s == Oblong || s == Square }

// Flag is an image of a flag.
type Flag struct {
	ETag  string // a strong entity tag: it changes with the image
	Drawn bool   // a plain drawing that stands in for the flag
	svg   func() []byte
}

// SVG returns the image. It is the caller's.
func (f Flag) SVG() []byte { return f.svg() }

// Flag returns the flag of an image's file name: an alpha-2 code of ISO 3166-1,
// or Kosovo's XK or the unknown country's ZZ, which airports have, and .svg, in
// any case. False when there is no such flag or shape.
func (a *Atlas) Flag(file string, shape Shape) (Flag, bool) {
	if len(file) != len("us.svg") { // also those whose letters only lower to ASCII
		return Flag{}, false
	}
	file = strings.ToLower(file)
	code, isSVG := strings.CutSuffix(file, ".svg")
	upper := strings.ToUpper(code)
	if _, known := FindCountry(code); !isSVG || !shape.Valid() || !known && upper != kosovo.Code && upper != nowhere.Code {
		return Flag{}, false
	}
	drawn := func() []byte { return draw(upper, shape) }
	packed := a.flags()[string(shape)+"/"+file]
	if packed == nil {
		svg := drawn()
		return Flag{ETag: etag(crc32.ChecksumIEEE(svg), len(svg)), Drawn: true, svg: drawn}, true
	}
	return Flag{ETag: etag(packed.CRC32, int(packed.UncompressedSize64)), svg: func() []byte {
		if svg := read(packed); svg != nil {
			return svg
		}
		return drawn()
	}}, true
}

func etag(sum uint32, size int) string { return fmt.Sprintf(`"%08x-%x"`, sum, size) }

// draw draws a plain flag: the code on grey, in the sizes of the real ones.
func draw(code string, shape Shape) []byte {
	width, height := 640, 480
	if shape == Square {
		width, height = 512, 512
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">`+
		`<path fill="#dfe3e8" d="M0 0h%dv%dH0z"/>`+
		`<text x="50%%" y="50%%" dy=".35em" text-anchor="middle" font-family="sans-serif" font-size="240" fill="#39424e">%s</text>`+
		`</svg>`+"\n", width, height, width, height, code)
}
