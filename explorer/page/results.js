// How answers are shown.

const token = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/g;

// coloured returns JSON as an element, its parts in colours.
function coloured(value) {
  const text = JSON.stringify(value, null, 2), pre = document.createElement("pre");
  const add = (part, kind) => {
    if (!kind) return pre.append(part);
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = part;
    pre.append(span);
  };
  let at = 0;
  for (const m of text.matchAll(token)) {
    add(text.slice(at, m.index));
    if (m[1]) {
      add(m[1], m[2] ? "j-name" : "j-string");
      add(m[2] ?? "");
    } else {
      add(m[0], /[a-z]/.test(m[0][0]) ? "j-word" : "j-number");
    }
    at = m.index + m[0].length;
  }
  add(text.slice(at));
  return pre;
}

const shown = 200; // messages of a live operation

// show puts an answer into a box: in the place of what is there, or above it
// under a heading.
export function show(box, value, heading) {
  const article = document.createElement("article");
  if (heading === undefined) {
    box.replaceChildren(article);
  } else {
    const h3 = document.createElement("h3");
    h3.textContent = heading;
    article.append(h3);
    article.className = "new";
    box.prepend(article);
    while (box.childElementCount > shown) box.lastElementChild.remove();
  }
  article.append(coloured(value));
}
