package rest

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// The markup that descriptions of the document use.
var (
	codeMarkup   = regexp.MustCompile("`([^`]+)`")
	strongMarkup = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	linkMarkup   = regexp.MustCompile(`\[([^\]]+)\]\((#[a-z0-9-]+)\)`)
)

// inline renders a line of a description: code, strong and links in the page.
func inline(text string) template.HTML {
	var b strings.Builder
	last := 0
	for _, m := range codeMarkup.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(prose(text[last:m[0]]))
		b.WriteString("<code>" + html.EscapeString(text[m[2]:m[3]]) + "</code>")
		last = m[1]
	}
	b.WriteString(prose(text[last:]))
	return template.HTML(b.String())
}

// prose renders what is not code.
func prose(text string) string {
	text = html.EscapeString(text)
	text = strongMarkup.ReplaceAllString(text, "<strong>$1</strong>")
	return linkMarkup.ReplaceAllString(text, `<a href="$2">$1</a>`)
}

// markdown renders a description: paragraphs, and lists of "- " lines.
func markdown(text string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if block == "" {
			continue
		}
		if !strings.HasPrefix(block, "- ") {
			b.WriteString("<p>" + string(inline(strings.ReplaceAll(block, "\n", " "))) + "</p>\n")
			continue
		}
		b.WriteString("<ul>\n")
		for item := range strings.SplitSeq(strings.TrimPrefix(block, "- "), "\n- ") {
			b.WriteString("<li>" + string(inline(strings.ReplaceAll(item, "\n", " "))) + "</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	return template.HTML(b.String())
}
