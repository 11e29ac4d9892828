package flight_test

import (
	"bytes"
	"fmt"
	"math"
)

// panel is one day's plot of calls for a flown flight (logarithmic) against the
// minutes within which 95 % of departures and arrivals were found.
type panel struct {
	title  string
	series []series
}

// series is points that a line goes through.
type series struct {
	name, class string
	below       bool // its labels stand below the points, not above
	points      []point
}

type point struct {
	label          string
	calls, minutes float64
}

func (s *series) add(label string, o *outcome) {
	_, flown := o.perFlight()
	s.points = append(s.points, point{label, flown, o.quantile(.95, departure, arrival).Minutes()})
}

// The measures of the plot, in pixels.
const (
	panelWidth, panelHeight = 330, 270
	plotLeft, plotTop       = 52, 64
	panelGap                = 40
	plotWidth               = plotLeft + 2*panelWidth + panelGap + 18
	plotHeight              = plotTop + panelHeight + 74
)

// The ends of the axes.
const (
	fewestCalls, mostDrawn = 3, 3000.
	mostMinutes            = 16.
)

const plotStyle = `<style>
.page { fill: #ffffff }
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600 } .tick, .label { font-size: 11px }
.grid { stroke: #d1d9e0 } .frame { fill: none; stroke: #818b98 } .bound { fill: #1a7f37; fill-opacity: .14 }
.line { fill: none; stroke-width: 2 } .fixed { --c: #9a6700 } .starting { --c: #8250df } .adaptive { --c: #1a7f37 } .oracle { --c: #0969da }
.line { stroke: var(--c) } .dot { fill: var(--c) } .name { fill: var(--c); font-weight: 600 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .grid { stroke: #3d444d } .frame { stroke: #9198a1 } .page { fill: #0d1117 } .bound { fill: #3fb950 }
.fixed { --c: #e3b341 } .starting { --c: #bc8cff } .adaptive { --c: #3fb950 } .oracle { --c: #58a6ff } }
</style>
`

// plot draws two panels side by side as an SVG that follows the reader's light
// or dark scheme.
func plot(panels []panel) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%d" role="img" aria-label="Upstream calls for a flown flight against the delay to detection">`+"\n", plotWidth, plotHeight, plotHeight)
	b.WriteString(plotStyle + `<rect class="page" width="100%" height="100%"/>` + "\n")
	drawLegend(&b, panels[0].series)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", plotLeft+i*(panelWidth+panelGap), plotTop)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">upstream calls for a flight that flew, from 24 h before its departure (logarithmic)</text>`+"\n", plotWidth/2, plotHeight-30)
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" class="tick">shaded: at most 60 calls and 3 minutes</text>`+"\n", plotWidth/2, plotHeight-10)
	fmt.Fprintf(&b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">95 %% of departures and arrivals within, min</text>`+"\n", plotTop+panelHeight/2)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func drawLegend(b *bytes.Buffer, all []series) {
	x := plotLeft
	for _, s := range all {
		fmt.Fprintf(b, `<g class="%s"><circle class="dot" cx="%d" cy="16" r="4"/><text class="name" x="%d" y="20">%s</text></g>`+"\n", s.class, x+4, x+14, s.name)
		x += 44 + 7*len(s.name)
	}
}

func (p *panel) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, `<text class="title" x="0" y="-12">%s</text>`+"\n", p.title)
	fmt.Fprintf(b, `<rect class="bound" x="0" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", yOf(3), xOf(60), panelHeight-yOf(3))
	for _, calls := range []float64{3, 10, 30, 100, 300, 1000, 3000} {
		fmt.Fprintf(b, `<path class="grid" d="M%.1f 0V%d"/><text class="tick" x="%.1[1]f" y="%[3]d" text-anchor="middle">%[4]g</text>`+"\n", xOf(calls), panelHeight, panelHeight+18, calls)
	}
	for minutes := 0.; minutes <= mostMinutes; minutes += 2 {
		fmt.Fprintf(b, `<path class="grid" d="M0 %.1fH%d"/><text class="tick" x="-8" y="%.1f" text-anchor="end">%g</text>`+"\n", yOf(minutes), panelWidth, yOf(minutes)+4, minutes)
	}
	fmt.Fprintf(b, `<rect class="frame" width="%d" height="%d"/>`+"\n", panelWidth, panelHeight)
	for _, s := range p.series {
		s.draw(b)
	}
}

func (s *series) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, `<g class="%s"><path class="line" d="`, s.class)
	for i, p := range s.points {
		fmt.Fprintf(b, "%c%.1f %.1f", "ML"[min(i, 1)], xOf(p.calls), yOf(p.minutes))
	}
	b.WriteString(`"/>`)
	right, down, anchor := 6., -6., "start"
	if s.below {
		right, down, anchor = 0, 17, "end"
	}
	for _, p := range s.points {
		x, y := xOf(p.calls), yOf(p.minutes)
		fmt.Fprintf(b, `<circle class="dot" cx="%.1f" cy="%.1f" r="4"/><text class="label" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, x+right, y+down, anchor, p.label)
	}
	b.WriteString("</g>\n")
}

func xOf(calls float64) float64 {
	return panelWidth * math.Log(calls/fewestCalls) / math.Log(mostDrawn/fewestCalls)
}

func yOf(minutes float64) float64 { return panelHeight * (1 - minutes/mostMinutes) }
