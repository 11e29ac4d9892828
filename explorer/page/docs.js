// The docs panel: the schema as introspection tells it, read from a file beside
// the page, so it needs neither a key nor another host.

const inner = (type) => (type.ofType ? inner(type.ofType) : type);
const written = (type) => (type.kind === "NON_NULL" ? `${written(type.ofType)}!` : type.kind === "LIST" ? `[${written(type.ofType)}]` : type.name);
const kinds = { OBJECT: "type", INPUT_OBJECT: "input", ENUM: "enum", SCALAR: "scalar", UNION: "union", INTERFACE: "interface" };
const most = 60; // things found

// make returns an element of a class, with text and elements in it.
function make(tag, name, ...parts) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...parts);
  return element;
}

// prose is a description: what stands in backquotes is code.
function prose(text) {
  const p = make("p", "prose");
  (text ?? "").split("`").forEach((part, n) => p.append(n % 2 ? make("code", "", part) : part));
  return p;
}

// docs fills box with what schema, the answer to an introspection query, has,
// and answers what is typed into find.
export function docs({ __schema: schema }, box, find) {
  const types = new Map(schema.types.map((t) => [t.name, t]));
  const roots = ["queryType", "mutationType", "subscriptionType"].map((r) => schema[r]?.name).filter(Boolean);
  const own = schema.types.filter((t) => !t.name.startsWith("__") && !roots.includes(t.name)).map((t) => t.name).sort();
  const visited = [""]; // names of types; "" is the beginning

  function link(name, text = name) {
    const button = make("button", "type-link", text);
    button.type = "button";
    button.addEventListener("click", () => go(name));
    return button;
  }

  // typed is a type with a link in it: [Name!]!
  function typed(type) {
    const name = inner(type).name, [before, after] = written(type).split(name);
    return make("span", "", before, link(name), after);
  }

  function argument(a) {
    const value = a.defaultValue == null ? "" : ` = ${a.defaultValue}`;
    const item = make("li", "", make("span", "argument", a.name), ": ", typed(a.type), value);
    if (a.description) item.append(prose(a.description));
    return item;
  }

  function field(f) {
    const head = make("div", "signature", make("span", "field", f.name));
    if (f.type) head.append(": ", typed(f.type));
    if (f.defaultValue != null) head.append(` = ${f.defaultValue}`);
    const item = make("li", f.isDeprecated ? "deprecated" : "", head);
    if (f.description) item.append(prose(f.description));
    if (f.isDeprecated) item.append(make("div", "reason", "Deprecated. ", prose(f.deprecationReason)));
    if (f.args?.length) item.append(make("ul", "arguments", ...f.args.map(argument)));
    return item;
  }

  function typePage(t) {
    const members = [...(t.fields ?? []), ...(t.inputFields ?? []), ...(t.enumValues ?? [])];
    const page = [make("h3", "", make("span", "kind", kinds[t.kind]), " ", t.name), prose(t.description)];
    if (t.specifiedByURL) page.push(make("p", "quiet", t.specifiedByURL));
    if (members.length) page.push(make("ul", "members", ...members.map(field)));
    return page;
  }

  const beginning = () => [
    make("h3", "", "The schema"), prose(schema.description),
    make("ul", "names", ...roots.map((name) => make("li", "", link(name), prose(types.get(name).description)))),
    make("h4", "", "All types"), make("ul", "names close", ...own.map((name) => make("li", "", link(name)))),
  ];

  // found lists types and fields that have a word in their names.
  function found(word) {
    const hits = [];
    for (const name of [...roots, ...own]) {
      const t = types.get(name), members = [...(t.fields ?? []), ...(t.inputFields ?? []), ...(t.enumValues ?? [])];
      if (name.toLowerCase().includes(word)) hits.push([name, name]);
      for (const m of members) if (m.name.toLowerCase().includes(word)) hits.push([name, `${name}.${m.name}`]);
    }
    const list = make("ul", "names", ...hits.slice(0, most).map(([name, text]) => make("li", "", link(name, text))));
    return [make("h3", "", `${hits.length} found`), list];
  }

  function draw() {
    const word = find.value.trim().toLowerCase(), name = visited.at(-1);
    const back = make("button", "back", "← back");
    back.type = "button";
    back.hidden = visited.length < 2 && word === "";
    back.addEventListener("click", () => {
      if (find.value) find.value = "";
      else visited.pop();
      draw();
    });
    box.replaceChildren(back, ...(word ? found(word) : name ? typePage(types.get(name)) : beginning()));
    box.scrollTop = 0;
  }

  function go(name) {
    find.value = "";
    visited.push(name);
    draw();
  }

  find.addEventListener("input", draw);
  draw();
}
