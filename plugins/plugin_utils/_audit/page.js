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
    const findings = [...table.querySelectorAll("tbody tr")];
    const rest = JSON.parse(ok.textContent).map((one, index) => rowWithoutDrift(one, findings.length + index + 1));
    hosts = [...findings, ...rest].map((row, order) => ({
      row,
      order,
      // Sort keys. States need none, because the rows are in the order of states.
      columns: [row.cells[0].firstChild.textContent, "", row.cells[2].textContent],
      text: `${row.textContent} state:${row.dataset.state} step:${row.dataset.kind ?? ""}`.toLowerCase(),
    }));
  };

  const show = () => {
    load();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = words.length || fold.checked;
    const found = hosts.filter(
      ({ row, text }) => (all || row.dataset.state !== "ok") && words.every((word) => text.includes(word)),
    );
    const parts = [];
    for (let start = 0; start < found.length; start += ROWS) {
      const part = document.createElement("tbody");
      part.setAttribute("role", "rowgroup");
      part.append(...found.slice(start, start + ROWS).map(({ row }) => row));
      parts.push(part);
    }
    table.replaceChildren(table.tHead, ...parts);
    shown.textContent = `${found.length} of ${hosts.length} hosts`;
  };
  filter.addEventListener("input", show);
  fold.addEventListener("change", show);

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      load();
      const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", other === head ? direction : "none"));
      hosts.sort((one, other) => compare(one.columns[column], other.columns[column]) || one.order - other.order);
      if (direction === "descending") hosts.reverse();
      show();
    });
    head.append(button);
  });

  // Links to the table, filtered by a state or a step.
  for (const link of document.querySelectorAll("[data-filter]")) {
    link.addEventListener("click", () => {
      filter.value = link.dataset.filter;
      show();
    });
  }

  for (const command of document.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => {
      // Copy the selection, because over http, and in old browsers, pages can't use the clipboard interface.
      getSelection().selectAllChildren(command);
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    });
    command.before(button);
  }

  document.querySelector(".controls").hidden = false;
  window.requestIdleCallback?.(load);
})();
