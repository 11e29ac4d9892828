// The editor that takes the place of the page's plain text boxes, where it was
// built in: CodeMirror, with completion and checks from the schema.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { linter, lintKeymap } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { graphql } from "cm6-graphql";
import { buildSchema } from "graphql";

// The colours are the page's own.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.definitionKeyword, tags.operatorKeyword], color: "var(--keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--number)" },
  { tag: tags.propertyName, color: "var(--name)" },
  { tag: [tags.variableName, tags.special(tags.variableName)], color: "var(--variable)" },
  { tag: [tags.typeName, tags.className], color: "var(--type)" },
  { tag: tags.attributeName, color: "var(--argument)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--quiet)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "transparent", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--code)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--edge)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "#fff" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", marginLeft: "1em" },
  "li[aria-selected] .cm-completionDetail": { color: "#fff" },
  ".cm-completionInfo": { maxWidth: "26em", padding: "6px 9px" },
});

function view({ box, nonce, onChange, onRun, extensions }) {
  const host = document.createElement("div");
  host.className = "editor";
  const made = new EditorView({
    parent: host,
    state: EditorState.create({
      doc: box.value,
      extensions: [
        EditorView.cspNonce.of(nonce),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (onRun(), true) }])),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
        history(), drawSelection(), bracketMatching(), closeBrackets(), indentOnInput(), highlightActiveLine(),
        syntaxHighlighting(colours), theme, placeholder(box.placeholder),
        EditorView.contentAttributes.of({ "aria-label": box.getAttribute("aria-label") }),
        EditorView.updateListener.of((u) => { if (u.docChanged) onChange(u.state.doc.toString()); }),
        ...extensions,
      ],
    }),
  });
  box.hidden = true;
  box.after(host);
  return { set: (text) => made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text } }), focus: () => made.focus() };
}

// query puts an editor for documents of a schema, given as SDL, in the place of
// a text box.
export function query(options, sdl) {
  return view({ ...options, extensions: [lineNumbers(), autocompletion(), ...graphql(buildSchema(sdl, { assumeValid: true }))] });
}

// object puts an editor for a JSON object in the place of a text box.
export function object(options) {
  const check = jsonParseLinter();
  return view({ ...options, extensions: [json(), linter((v) => (v.state.doc.length === 0 ? [] : check(v)))] });
}
