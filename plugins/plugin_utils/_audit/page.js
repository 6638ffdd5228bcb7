/*
 * Copyright (c) 2026 monitor.cloud contributors
 * GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
"use strict";
// The page is complete without this: it adds filters, sorting and copying.
(() => {
  const rows = [...document.querySelectorAll("tbody tr")].map((row, order) => ({
    row,
    order,
    host: row.cells[0].firstChild.textContent,
    finding: row.cells[2].textContent,
    text: row.textContent.toLowerCase(),
  }));
  const filter = document.getElementById("filter");
  const all = document.getElementById("all");
  const states = new Set();

  const buttonOf = (content, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...content);
    button.addEventListener("click", () => act(button));
    return button;
  };

  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { row, text } of rows) {
      const fits = (!states.size || states.has(row.dataset.state)) && words.every((word) => text.includes(word));
      count += fits;
      if (row.hidden === fits) row.hidden = !fits;
    }
    document.getElementById("shown").textContent = `${count} of ${rows.length} hosts`;
    all.hidden = !states.size;
  };

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const orders = [
    (one, other) => compare(one.host, other.host),
    (one, other) => one.order - other.order,
    (one, other) => compare(one.finding, other.finding) || one.order - other.order,
  ];
  const heads = [...document.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    head.append(buttonOf(head.childNodes, () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((one) => one.setAttribute("aria-sort", one === head ? direction : "none"));
      const sorted = rows.slice().sort(orders[column]);
      if (direction === "descending") sorted.reverse();
      document.querySelector("tbody").append(...sorted.map(({ row }) => row));
    }));
  });

  const toggles = [...document.querySelectorAll(".legend .entry")].map((entry) => {
    const button = buttonOf(entry.childNodes, () => {
      if (!states.delete(entry.dataset.state)) states.add(entry.dataset.state);
      button.setAttribute("aria-pressed", String(states.has(entry.dataset.state)));
      apply();
    });
    button.setAttribute("aria-pressed", "false");
    entry.replaceWith(button);
    return button;
  });
  all.addEventListener("click", () => {
    states.clear();
    toggles.forEach((button) => button.setAttribute("aria-pressed", "false"));
    apply();
    filter.focus();
  });

  for (const command of document.querySelectorAll(".command")) {
    const text = command.querySelector("pre");
    command.append(buttonOf(["Copy"], async (button) => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      } catch {
        getSelection().selectAllChildren(text);
      }
    }));
  }

  filter.addEventListener("input", apply);
  document.querySelector(".controls").hidden = false;
  apply();
})();
