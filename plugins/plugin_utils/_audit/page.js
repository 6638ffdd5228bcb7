/*
 * Copyright (c) 2026 monitor.cloud contributors
 * GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
"use strict";
// The page shows all findings without this script, which adds a filter, sorting, copying, and hosts without drift.
(() => {
  const ROWS = 50; // in each tbody: browsers skip the layout of a tbody that is far from the window
  const [filter, fold, shown, ok] = ["filter", "fold", "shown", "ok"].map((id) => document.getElementById(id));
  const table = document.querySelector("table");
  const blank = document.querySelector("template").content.firstElementChild;

  const rowWithoutDrift = ([host, label], number) => {
    const row = blank.cloneNode(true);
    row.cells[0].dataset.number = number;
    const [name, other] = row.cells[0].querySelectorAll("bdi");
    name.textContent = host;
    if (label === host) other.parentNode.remove();
    else other.textContent = label;
    return row;
  };

  // Load the rows when the browser is idle, or at the first use: with 10,000 hosts, loading delays the first paint.
  let hosts;
  const load = () => {
    if (hosts) return;
    const rows = [...table.querySelectorAll("tbody tr")];
    for (const one of JSON.parse(ok.textContent)) rows.push(rowWithoutDrift(one, rows.length + 1));
    // States need no sort key, because the rows are in the order of states.
    hosts = rows.map((row, order) => ({
      row,
      order,
      keys: [row.cells[0].firstChild.textContent, "", row.cells[2].textContent],
      text: `${row.textContent} state:${row.dataset.state} step:${row.dataset.kind ?? ""}`.toLowerCase(),
    }));
  };

  const show = () => {
    load();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isShown = ({ row, text }) =>
      (words.length || fold.checked || row.dataset.state !== "ok") && words.every((word) => text.includes(word));
    const found = hosts.filter(isShown).map(({ row }) => row);
    table.replaceChildren(table.tHead);
    for (let start = 0; start < found.length; start += ROWS) {
      const part = table.createTBody();
      part.setAttribute("role", "rowgroup");
      part.append(...found.slice(start, start + ROWS));
    }
    shown.textContent = `${found.length} of ${hosts.length} hosts`;
  };
  filter.addEventListener("input", show);
  fold.addEventListener("change", show);

  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(...text);
    made.addEventListener("click", () => act(made));
    return made;
  };

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const sort = () => {
      load();
      const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", other === head ? direction : "none"));
      hosts.sort((one, other) => compare(one.keys[column], other.keys[column]) || one.order - other.order);
      if (direction === "descending") hosts.reverse();
      show();
    };
    head.append(button([...head.childNodes], sort));
  });

  // Links to the table, filtered by a state or a step.
  for (const link of document.querySelectorAll("[data-filter]"))
    link.addEventListener("click", () => {
      filter.value = link.dataset.filter;
      show();
    });

  for (const command of document.querySelectorAll("pre"))
    command.before(button(["Copy"], (made) => {
      // Copy the selection, because over http, and in old browsers, pages can't use the clipboard interface.
      getSelection().selectAllChildren(command);
      made.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    }));

  document.querySelector(".controls").hidden = false;
  window.requestIdleCallback?.(load);
})();
