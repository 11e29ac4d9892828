package places

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var shapes = map[Shape]string{Oblong: "0 0 640 480", Square: "0 0 512 512"}

// wellFormed fails the test unless the image is XML, in its shape, that runs
// and loads nothing.
func wellFormed(t *testing.T, name string, shape Shape, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for first := true; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && !first {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		box := ""
		for _, a := range e.Attr {
			if a.Name.Local == "viewBox" {
				box = a.Value
			}
			outside := a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") || strings.Contains(a.Value, "url(") && !strings.Contains(a.Value, "url(#")
			if outside || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
			}
		}
		if first && (e.Name.Local != "svg" || box != shapes[shape]) {
			t.Errorf("%s begins with %s %q", name, e.Name.Local, box)
		}
		if e.Name.Local == "script" || e.Name.Local == "foreignObject" {
			t.Errorf("%s has a %s", name, e.Name.Local)
		}
		first = false
	}
}

var entityTag = regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]+"$`)

// each looks at every flag, and returns how many are drawings.
func each(t *testing.T, a *Atlas) (drawn int) {
	tags := map[string]string{}
	for _, code := range append(Countries(), "XK", "ZZ") {
		for shape := range shapes {
			name := fmt.Sprintf("%s.svg %s", strings.ToLower(code), shape)
			f, ok := a.Flag(strings.ToLower(code)+".svg", shape)
			if !ok {
				t.Errorf("no %s", name)
				continue
			}
			svg := f.SVG()
			wellFormed(t, name, shape, svg)
			if again, _ := a.Flag(code+".SVG", shape); again.ETag != f.ETag || !bytes.Equal(again.SVG(), svg) {
				t.Errorf("%s is another in upper case", name)
			}
			if other := tags[f.ETag]; !entityTag.MatchString(f.ETag) || other != "" && other != string(svg) {
				t.Errorf("%s: ETag %s, which is also another's", name, f.ETag)
			}
			tags[f.ETag] = string(svg)
			if f.Drawn {
				drawn++
				if !bytes.Contains(svg, []byte(">"+code+"<")) {
					t.Errorf("%s: %s", name, svg)
				}
			}
		}
	}
	return drawn
}

func TestFlagsWithoutAssets(t *testing.T) {
	if drawn := each(t, nothing()); drawn != 502 {
		t.Errorf("%d of 502 are drawings", drawn)
	}
}

func TestFlagsWithAssets(t *testing.T) {
	const oblong, square = `<svg viewBox="0 0 640 480"><path/></svg>`, `<svg viewBox="0 0 512 512"><path/></svg>`
	a := NewAtlas(fstest.MapFS{"flags.zip": zipOf(t, "4x3/is.svg", oblong, "1x1/is.svg", square, "4x3/eu.svg", oblong)})
	for shape, want := range map[Shape]string{Oblong: oblong, Square: square} {
		if f, ok := a.Flag("Is.svg", shape); !ok || f.Drawn || string(f.SVG()) != want {
			t.Errorf("%s: %v %v %s", shape, ok, f.Drawn, f.SVG())
		}
	}
	if drawn := each(t, a); drawn != 500 {
		t.Errorf("%d of 502 are drawings", drawn)
	}
	if _, ok := a.Flag("eu.svg", Oblong); ok {
		t.Error("there is a flag that no country has")
	}
}

func TestFlagRefuses(t *testing.T) {
	for _, file := range []string{
		"", "is", "is.", ".svg", "is.png", "is.svg.svg", "is.svgz", "is_svg", "isl.svg", "qq.svg", "eu.svg", "xx.svg", "../is.svg", "i/.svg", "4x3/is.svg",
		"\u212ae.svg", "is\x00.svg", "is.svg ", "is.svg\n", "gb-eng.svg", "i.ssvg",
	} {
		if f, ok := BuiltIn().Flag(file, Oblong); ok {
			t.Errorf("%q found %s", file, f.SVG())
		}
	}
	for _, shape := range []Shape{"", "3x4", "4X3", "4x3 ", "../4x3", "16x9"} {
		if _, ok := BuiltIn().Flag("is.svg", shape); ok {
			t.Errorf("there is a flag of the shape %q", shape)
		}
	}
}

// An image that cannot be read is drawn.
func TestBrokenFlags(t *testing.T) {
	z := zipOf(t, "4x3/is.svg", strings.Repeat("<svg/>", 50))
	at := bytes.Index(z.Data, []byte("is.svg")) + len("is.svg") + 2
	z.Data[at] = ^z.Data[at]
	f, ok := NewAtlas(fstest.MapFS{"flags.zip": z}).Flag("is.svg", Oblong)
	if !ok {
		t.Fatal("not found")
	}
	wellFormed(t, "is.svg", Oblong, f.SVG())
}

// What this machine has built in, if it has.
func TestBuiltInFlags(t *testing.T) {
	if len(BuiltIn().flags()) == 0 {
		t.Skip("built without make assets")
	}
	if drawn := each(t, BuiltIn()); drawn != 4 { // Kosovo's and the unknown country's
		t.Errorf("%d are drawings", drawn)
	}
	if n := len(BuiltIn().flags()); n != 498 {
		t.Errorf("%d images are packed", n)
	}
}
