// Rows can be ordered and chosen by a few letters. Without this script, and on paper, all rows show.
const FEW_ROWS = 5;
const FEW_COLUMNS = 4; // more, or cells of whole sentences, are folded on a narrow screen: a row becomes a paragraph of named values

for (const table of document.querySelectorAll("table.rows, table.numbers")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
  if (heads.length <= FEW_COLUMNS && !table.matches(".wrapped")) continue;
  table.classList.add("folds");
  for (const row of table.querySelectorAll("tbody tr:not(.group)"))
    [...row.cells].forEach((cell, column) => { if (column && heads[column]) cell.dataset.head = heads[column]; });
}

for (const table of document.querySelectorAll("table.rows, table.numbers")) {
  const rows = () => [...table.querySelectorAll("tr")].filter((row) => !row.closest("thead") && !row.matches(".group"));
  if (table.matches(".rows")) table.querySelectorAll("thead th").forEach((head, column) => sortable(table, head, column, rows));
  if (rows().length > FEW_ROWS) tools(table.closest(".scroll"), rows);
}

for (const list of document.querySelectorAll(".verdicts")) {
  const rows = () => [...list.querySelectorAll(".verdict:not(.axis)")];
  if (rows().length > FEW_ROWS) orders(list, rows, tools(list, rows));
}

function sortable(table, head, column, rows) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.onclick = () => {
    const down = head.getAttribute("aria-sort") === "descending" || (head.cellIndex === 0 && !head.hasAttribute("aria-sort"));
    table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    const sorted = rows().map((row) => [key(row.cells[column]), row]);
    sorted.sort(([a], [b]) => (a === null) - (b === null) || (down ? 1 : -1) * compare(a, b));
    table.querySelectorAll(".group").forEach((group) => group.remove());
    table.tBodies[0].append(...sorted.map(([, row]) => row));
  };
}

// What a cell is ordered by: data-value where there is one, else its text. An empty value stands last either way.
function key(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  return text === "" || text === "–" ? null : isNaN(text) ? text : Number(text);
}

function compare(a, b) {
  if (a === null || b === null) return 0;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}

// A line above some rows, with a field that leaves those rows that contain all of its words.
function tools(place, rows) {
  const line = document.createElement("div"), field = document.createElement("input");
  line.className = "tools";
  field.type = "search";
  field.placeholder = "show only rows with …";
  field.setAttribute("aria-label", "show only rows that contain");
  field.oninput = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    place.querySelectorAll(".rows .group").forEach((group) => { group.hidden = words.length > 0; });
    for (const row of rows()) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (words.length && !row.hidden && row.closest("details.more")) row.closest("details.more").open = true;
    }
  };
  line.append(field);
  place.before(line);
  return line;
}

// The order of verdicts: the page's own, or by a number of theirs, the largest first (p: the smallest).
function orders(list, rows, line) {
  const first = rows(), label = document.createElement("label"), choice = document.createElement("select");
  const by = { "as they are": "", name: "name", gap: "gap", "mean W1": "w1", p: "p", "overlap O_A": "overlap" };
  for (const [text, value] of Object.entries(by)) choice.add(new Option(text, value));
  choice.onchange = () => {
    const name = choice.value, up = name === "name" || name === "p";
    const number = (row) => (row.dataset[name] === "" ? null : isNaN(row.dataset[name]) ? row.dataset[name] : Number(row.dataset[name]));
    const pairs = first.map((row) => [name ? number(row) : 0, row]);
    pairs.sort(([a], [b]) => (a === null) - (b === null) || (up ? 1 : -1) * compare(a, b));
    list.querySelectorAll("details.more").forEach((more) => more.remove());
    list.prepend(...pairs.map(([, row]) => row));
  };
  label.append("order ", choice);
  line.append(label);
}
