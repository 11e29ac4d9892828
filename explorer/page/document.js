// What the page must know of a GraphQL document: which operations it has.

const name = /[_A-Za-z]\w*/y;

// operations returns the operations of a document, each with its kind, its name
// ("" where it has none) and the names of its variables. It looks at names
// outside of braces only, so a document that is wrong somewhere has operations,
// too.
export function operations(text) {
  const found = [];
  let depth = 0; // of braces and parentheses
  let open = null; // the definition whose braces have not come yet
  for (let i = 0; i < text.length; ) {
    const c = text[i];
    if (c === "#") {
      while (i < text.length && text[i] !== "\n" && text[i] !== "\r") i++;
    } else if (c === '"') {
      i = afterString(text, i);
    } else if ("{([".includes(c)) {
      if (depth === 0 && c === "{") {
        if (open === null) found.push({ kind: "query", name: "", variables: [] });
        open = null;
      }
      depth++, i++;
    } else if ("})]".includes(c)) {
      depth--, i++;
    } else {
      name.lastIndex = i + 1;
      if (c === "$" && depth === 1 && open !== null && text[i + 1] !== undefined) open.variables.push(name.exec(text)?.[0]);
      name.lastIndex = i;
      const word = depth === 0 ? name.exec(text)?.[0] : undefined;
      if (word && open === null) {
        open = { kind: word, name: "", variables: [] };
        if (word !== "fragment") found.push(open);
      } else if (word && open.name === "") {
        open.name = word;
      }
      i += word ? word.length : 1;
    }
  }
  return found;
}

// afterString returns where the string that begins at i is over.
function afterString(text, i) {
  if (text.startsWith('"""', i)) {
    for (i += 3; i < text.length && !text.startsWith('"""', i); i++) if (text.startsWith('\\"""', i)) i += 3;
    return i + 3;
  }
  for (i++; i < text.length && text[i] !== '"' && text[i] !== "\n"; i++) if (text[i] === "\\") i++;
  return i + 1;
}
