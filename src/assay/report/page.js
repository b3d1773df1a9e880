"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const PAGE = 50;
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Texts are only ever set as text: nothing from the data becomes markup.
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  const number = (value) => String(Number(value.toPrecision(3)));
  const list = (values) => (values === null ? "–" : values.map(number).join(", "));
  const nameOf = (row) => (row.candidate === null ? row.item : `${row.item} · ${row.candidate}`);

  const outcomeOf = (row) => {
    if (row.outcome !== "verdict") return ["failed", row.outcome];
    if (row.agrees === null) return ["", "verdict"];
    return row.agrees ? ["yes", "✓ agrees"] : ["no", "✗ disagrees"];
  };

  const haystack = (row) => {
    if (row.haystack === undefined) {
      const about = data.items[row.item];
      const texts = [row.item, row.prompt, row.text, row.detail, row.outcome, ...row.flags, ...row.groups];
      if (about) texts.push(about.question, about.reference, ...about.candidates);
      row.haystack = texts.filter((text) => text !== null).join("\n").toLowerCase();
    }
    return row.haystack;
  };

  // Filters: each is a select (or the search box) and a test of a row against what is chosen there.
  const tests = [];
  const addSelect = (select, options, test) => {
    select.append(...options.map(([value, text]) => make("option", { value, textContent: text })));
    select.addEventListener("change", () => show(true));
    tests.push((row) => select.value === "" || test(row, select.value));
  };
  const addFilter = (name, values, test) => {
    const select = make("select");
    addSelect(select, [["", "all"], ...values.map((value) => [String(value), String(value)])], test);
    $("filters").append(make("label", { textContent: name }, select));
  };

  const kinds = [...new Set(data.rows.filter((row) => row.outcome !== "verdict").map((row) => row.outcome))];
  const graded = data.rows.some((row) => row.agrees !== null);
  addSelect(
    $("outcome"),
    [
      ["", "all"],
      ...(graded ? [["no", "disagrees with gold"], ["yes", "agrees with gold"]] : []),
      ["verdict", "verdicts"],
      ...(kinds.length ? [["failed", "failures"]] : []),
      ...kinds.map((kind) => [`=${kind}`, `  ${kind}`]),
    ],
    (row, value) => {
      if (value === "failed") return row.outcome !== "verdict";
      if (value === "verdict") return row.outcome === "verdict";
      if (value[0] === "=") return row.outcome === value.slice(1);
      return row.agrees === (value === "yes");
    },
  );
  if (data.judges.length > 1) {
    addFilter("judge", data.judges.map(([, label]) => label), (row, value) => data.judges[row.judge][1] === value);
  }
  data.keys.forEach((key, place) => {
    const values = [...new Set(data.rows.map((row) => row.groups[place]).filter((value) => value !== null))].sort();
    addFilter(key, values, (row, value) => row.groups[place] === value);
  });
  tests.push((row) => {
    const wanted = $("search").value.trim().toLowerCase();
    return wanted === "" || haystack(row).includes(wanted);
  });

  const block = (name, text, style = "") => [
    make("h4", { textContent: name }),
    make("pre", { textContent: text === "" ? "(empty)" : text, dir: "auto", className: style }),
  ];

  const details = (row) => {
    const parts = [];
    const about = data.items[row.item];
    if (row.detail) parts.push(...block("Why it failed", row.detail));
    if (about) {
      parts.push(...block("Question", about.question, "prose"));
      if (about.reference !== null) parts.push(...block("Reference", about.reference, "prose"));
      about.candidates.forEach((text, place) => {
        if (row.candidate !== null && row.candidate !== place) return;
        const at = row.candidate === null ? place : 0;
        const marks = [];
        if (row.gold) marks.push(`gold ${number(row.gold[at])}`);
        if (row.scores && row.scores.length > at) marks.push(`score ${number(row.scores[at])}`);
        if (row.choice === place) marks.push("chosen");
        parts.push(...block([`Candidate ${place}`, ...marks].join(" · "), text, "prose judged"));
      });
    }
    parts.push(...block("Judge's reply", row.text));
    if (row.prompt) {
      const prompt = make("details", {}, make("summary", { textContent: "Judge's prompt" }));
      prompt.append(make("pre", { textContent: row.prompt, dir: "auto" }));
      parts.push(prompt);
    }
    const facts = [`${row.tokens[0]} tokens read, ${row.tokens[1]} written`, row.latency];
    if (row.mass !== null) facts.push(`choice mass ${number(row.mass)}`);
    if (row.reasks) facts.push(`asked again ${row.reasks} times`);
    if (row.flags.length) facts.push(`flags: ${row.flags.join(", ")}`);
    if (row.seed !== null) facts.push(`seed ${row.seed}`);
    parts.push(make("p", { className: "about", textContent: facts.join(" · ") }));
    return make("tr", { className: "detail" }, make("td", { colSpan: 5 }, ...parts));
  };

  // The question and how the answer ends, on one line.
  const gist = (row) => {
    const about = data.items[row.item];
    if (!about) return [];
    const answer = row.candidate === null ? "" : about.candidates[row.candidate] ?? "";
    const end = answer.trim().split("\n").at(-1);
    const text = [about.question.slice(0, 200), end.slice(-120)].filter((part) => part !== "").join(" → ");
    return [make("p", { textContent: text.replace(/\s+/g, " ") })];
  };

  const line = (row) => {
    const [style, text] = outcomeOf(row);
    const open = make("button", { type: "button", className: "open", textContent: nameOf(row) });
    open.setAttribute("aria-expanded", "false");
    const cell = (name, value, className = "") => {
      const made = make("td", { textContent: value, className });
      made.dataset.name = name;
      return made;
    };
    const [name, label] = data.judges[row.judge];
    const judge = make("td", { className: `judge j${row.judge % 6}`, title: label }, make("i"), name);
    const chosen = row.choice !== null && row.scores === null ? `chose ${row.choice}` : list(row.scores);
    const made = make(
      "tr",
      { className: "row" },
      make("th", { scope: "row" }, open, ...gist(row)),
      judge,
      cell("gold", list(row.gold)),
      cell("score", chosen),
      make("td", { className: style, textContent: text }),
    );
    open.addEventListener("click", () => {
      const opened = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!opened));
      if (opened) made.nextElementSibling.remove();
      else made.after(details(row));
    });
    return made;
  };

  const body = $("list").tBodies[0];
  let matching = [];
  let shown = 0;
  const show = (fresh) => {
    if (fresh) {
      matching = data.rows.filter((row) => tests.every((test) => test(row)));
      shown = 0;
      body.replaceChildren();
    }
    const next = matching.slice(shown, shown + PAGE);
    body.append(...next.map(line));
    shown += next.length;
    $("more").hidden = shown >= matching.length;
    const held = data.rows.length < data.total
      ? ` This page holds ${data.rows.length.toLocaleString("en")} of the ${data.total.toLocaleString("en")} judgments: failures first, then disagreements, then an even sample of the rest. The result file has all of them.`
      : "";
    $("count").textContent = `${shown.toLocaleString("en")} of ${matching.length.toLocaleString("en")} shown.${held}`;
  };

  let waiting = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(true), 120);
  });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("more").addEventListener("click", () => show(false));
  $("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  $("list").classList.toggle("solo", data.judges.length === 1);
  $("filters").hidden = false;
  $("list").hidden = false;
  show(true);
})();
