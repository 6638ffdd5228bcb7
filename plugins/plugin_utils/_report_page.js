/*
 * Copyright (c) 2026 monitor.cloud contributors
 * GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
"use strict";
// The page is complete without this: it adds filters, sorting and copying.
(() => {
  const body = document.querySelector("tbody");
  const filter = document.getElementById("filter");
  const all = document.getElementById("all");
  const shown = document.getElementById("shown");
  const states = new Set();
  const rows = [...body.rows].map((row, order) => ({
    row,
    order,
    state: row.dataset.state,
    host: row.cells[0].firstChild.textContent,
    finding: row.cells[2].textContent,
    text: row.textContent.toLowerCase(),
  }));

  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of rows) {
      const fits = (!states.size || states.has(entry.state)) && words.every((word) => entry.text.includes(word));
      count += fits;
      if (entry.row.hidden === fits) entry.row.hidden = !fits;
    }
    shown.textContent = `${count} of ${rows.length} hosts`;
    all.hidden = !states.size;
  };

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const orders = [
    (one, other) => compare(one.host, other.host),
    (one, other) => one.order - other.order,
    (one, other) => compare(one.finding, other.finding) || one.order - other.order,
  ];
  const heads = [...document.querySelectorAll("thead th")];
  const sort = (column) => {
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    heads.forEach((head, number) => {
      head.setAttribute("aria-sort", number !== column ? "none" : down ? "descending" : "ascending");
    });
    const sorted = rows.slice().sort(orders[column]);
    if (down) sorted.reverse();
    body.append(...sorted.map((entry) => entry.row));
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
  });

  const toggles = [];
  for (const entry of document.querySelectorAll(".legend .entry")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...entry.childNodes);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const state = entry.dataset.state;
      if (!states.delete(state)) states.add(state);
      button.setAttribute("aria-pressed", String(states.has(state)));
      apply();
    });
    entry.replaceWith(button);
    toggles.push(button);
  }
  all.addEventListener("click", () => {
    states.clear();
    toggles.forEach((button) => button.setAttribute("aria-pressed", "false"));
    apply();
    filter.focus();
  });

  for (const command of document.querySelectorAll(".command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = command.querySelector("pre");
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      } catch {
        getSelection().selectAllChildren(text);
      }
    });
    command.append(button);
  }

  filter.addEventListener("input", apply);
  document.querySelector(".controls").hidden = false;
  apply();
})();
