/*
 * Copyright (c) 2026 monitor.cloud contributors
 * GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
"use strict";
// Without this the page has all findings: it adds a filter, sorting, copying, and rows of hosts without drift.
(() => {
  const ROWS = 50; // of a part of the table: parts that are far from the window are not laid out
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

  // Read when the browser is idle, or at the first use: with 10,000 hosts it would delay the first paint.
  let hosts;
  const load = () => {
    if (hosts) return;
    const findings = [...table.querySelectorAll("tbody tr")];
    const rest = JSON.parse(ok.textContent).map((one, index) => rowWithoutDrift(one, findings.length + index + 1));
    hosts = [...findings, ...rest].map((row, order) => ({
      row,
      order,
      // To sort by; the states are in order.
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

  // These links show the hosts of a state or of a step alone, and lead to the table.
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
      // By the selection: over http, and in old browsers, a page has no other access to the clipboard.
      getSelection().selectAllChildren(command);
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    });
    command.before(button);
  }

  document.querySelector(".controls").hidden = false;
  window.requestIdleCallback?.(load);
})();
