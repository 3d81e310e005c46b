"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const SIDES = data.reference === null ? ["endpoint"] : ["endpoint", "reference"];
  const FOUND = new Set(["d", "f", "y"]);
  document.documentElement.classList.add("js");

  /** An element; all text goes in as text, never as markup. */
  function make(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children.filter((each) => each !== null && each !== undefined && each !== ""));
    return made;
  }

  const scenarioPlaces = new Map(data.scenarios.map((each, place) => [each.id, place]));
  const clientPlaces = new Map(data.clients.map((each, place) => [each, place]));
  const keyOf = (scenario, client, side) => `${scenario}/${client}/${side}`;
  const results = new Map();
  const words = data.scenarios.map((each) => [each.id, each.proves, each.source, ...each.needs]);
  for (const [scenario, client, side, outcome, reason, seconds] of data.results) {
    const place = scenarioPlaces.get(scenario);
    results.set(keyOf(place, clientPlaces.get(client), side), { outcome, reason, seconds });
    words[place].push(reason);
  }
  const texts = words.map((each) => each.join("\n").toLowerCase());

  const tag = (outcome) =>
    make("span", { class: `tag k-${outcome}` },
      make("span", { class: "sign", "aria-hidden": "true" }, data.outcomes[outcome][1]), ` ${data.outcomes[outcome][0]}`);

  // --- theme, and what is kept between visits -----------------------------------------------------------------------

  /** A browser may forbid a file to keep anything. */
  const kept = {
    get(key) { try { return localStorage.getItem(`rocketwire-${key}`); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(`rocketwire-${key}`, value); } catch { /* then it is not kept */ } },
  };
  const themes = ["auto", "light", "dark"];
  function setTheme(theme) {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    $("theme").textContent = `Theme: ${theme}`;
    kept.set("theme", theme);
  }
  let theme = themes.includes(kept.get("theme")) ? kept.get("theme") : "auto";
  setTheme(theme);
  $("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    setTheme(theme);
  });

  // --- grids --------------------------------------------------------------------------------------------------------

  const visible = (each) => !each.hidden;

  /** Makes a grid of a table: one cell can be reached with Tab, the arrow keys move between cells. */
  class Grid {
    constructor(table, rows, open) {
      this.rows = rows;
      this.open = open;
      table.setAttribute("role", "grid");
      table.setAttribute("aria-label", table.caption.textContent);
      for (const row of rows) for (const cell of row.cells) cell.tabIndex = -1;
      this.current = rows.length ? rows[0].cells[1] ?? rows[0].cells[0] : null;
      if (this.current) this.current.tabIndex = 0;
      table.addEventListener("keydown", (event) => this.key(event));
      table.addEventListener("click", (event) => {
        const cell = event.target.closest("td, th");
        if (event.target.closest("a") || !cell || !rows.includes(cell.parentElement)) return;
        this.to(cell);
        open(cell);
      });
      table.addEventListener("focusin", (event) => {
        const cell = event.target.closest("td, th");
        if (cell && cell !== this.current && rows.includes(cell.parentElement)) this.mark(cell);
      });
    }
    seen() { return this.rows.filter((row) => visible(row) && visible(row.parentElement)); }
    mark(cell) {
      if (this.current) this.current.tabIndex = -1;
      this.current = cell;
      if (cell) cell.tabIndex = 0;
    }
    to(cell) {
      this.mark(cell);
      cell.focus({ preventScroll: true });
      cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    /** After a filter: the cell that Tab reaches must be one that is shown. */
    settle() {
      const rows = this.seen();
      if (this.current && visible(this.current) && rows.includes(this.current.parentElement)) return;
      this.mark(rows.length ? [...rows[0].cells].find((each, place) => place > 0 && visible(each)) ?? rows[0].cells[0] : null);
    }
    key(event) {
      if (event.altKey || event.metaKey || event.target !== this.current) return;
      const rows = this.seen();
      const row = this.current.parentElement;
      const cells = [...row.cells].filter(visible);
      const y = rows.indexOf(row);
      const x = cells.indexOf(this.current);
      const page = 10;
      let [down, right] = [y, x];
      switch (event.key) {
        case "ArrowUp": down -= 1; break;
        case "ArrowDown": down += 1; break;
        case "ArrowLeft": right -= 1; break;
        case "ArrowRight": right += 1; break;
        case "PageUp": down -= page; break;
        case "PageDown": down += page; break;
        case "Home": right = 0; if (event.ctrlKey) down = 0; break;
        case "End": right = cells.length - 1; if (event.ctrlKey) down = rows.length - 1; break;
        case "Enter": case " ":
          event.preventDefault();
          if (!event.ctrlKey) this.open(this.current);
          return;
        default: return;
      }
      event.preventDefault();
      const target = rows[Math.max(0, Math.min(rows.length - 1, down))];
      const shown = [...target.cells].filter(visible);
      this.to(shown[Math.max(0, Math.min(shown.length - 1, right))]);
    }
  }

  const table = $("by-scenario");
  const rows = [...table.querySelectorAll("tr[data-scenario]")];
  const columns = [...table.querySelectorAll("[data-client]")];
  const opened = (cell) => {
    const scenario = Number(cell.parentElement.dataset.scenario);
    if (cell.tagName === "TH") openScenario(scenario);
    else openCell(scenario, Number(cell.dataset.client));
  };
  const grid = new Grid(table, rows, opened);
  for (const row of rows) for (const cell of row.cells) cell.setAttribute("aria-haspopup", "dialog");
  new Grid($("by-feature"), [...$("by-feature").tBodies[0].rows], (cell) => {
    const go = new Map((cell.dataset.go || `f=${cell.parentElement.dataset.feature}`).split(" ").map((each) => each.split("=")));
    form.reset();
    check("feature", go.get("f"));
    if (go.has("c")) check("client", go.get("c"));
    apply();
    grid.settle();
    $("scenarios").scrollIntoView();
    if (grid.current) grid.current.focus({ preventScroll: true });
  });

  // --- filters ------------------------------------------------------------------------------------------------------

  const form = $("filters");
  const search = $("search");
  const chosen = (name) => new Set([...form.querySelectorAll(`input[name="${name}"]:checked`)].map((each) => each.value));
  function check(name, value) {
    for (const box of form.querySelectorAll(`input[name="${name}"]`)) if (box.value === value) box.checked = true;
  }
  const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

  function apply() {
    const outcomes = chosen("outcome");
    const clients = chosen("client");
    const features = chosen("feature");
    const reference = data.reference !== null && chosen("reference").size > 0;
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = data.clients.map((_, place) => clients.size === 0 || clients.has(String(place)));
    for (const cell of columns) {
      cell.hidden = !wanted[Number(cell.dataset.client)] || (cell.classList.contains("ref") && !reference);
    }
    if (data.reference !== null) {
      for (const header of table.tHead.rows[0].cells) if (header.dataset.client) header.colSpan = reference ? 2 : 1;
      table.tHead.rows[1].hidden = !reference;
      table.tHead.rows[0].cells[0].rowSpan = reference ? 2 : 1;
    }
    let shown = 0;
    for (const row of rows) {
      const scenario = Number(row.dataset.scenario);
      const fits = (features.size === 0 || features.has(row.parentElement.dataset.feature))
        && terms.every((term) => texts[scenario].includes(term))
        && (outcomes.size === 0 || wanted.some((yes, client) => {
          const result = yes && results.get(keyOf(scenario, client, "endpoint"));
          return result && outcomes.has(result.outcome);
        }));
      row.hidden = !fits;
      shown += fits;
    }
    for (const body of table.tBodies) body.hidden = ![...body.rows].some((row) => row.dataset.scenario && visible(row));
    table.parentElement.hidden = shown === 0;
    $("nothing").hidden = shown > 0;
    $("shown").textContent = `Shown: ${shown} of ${counted(rows.length, "scenario")}, ${counted(wanted.filter(Boolean).length, "client")}`;
    grid.settle();
  }
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();

  // --- evidence -----------------------------------------------------------------------------------------------------

  const dialog = $("evidence");
  let now = null; // what the dialog shows: {scenario, client}
  let opener = null;

  async function unpack(block) {
    const bytes = Uint8Array.from(atob(block), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  /** The cells that are shown and did not simply pass, in the order of the table. */
  function findings() {
    const clients = data.clients.map((_, place) => place).filter((place) => {
      const wanted = chosen("client");
      return wanted.size === 0 || wanted.has(String(place));
    });
    return grid.seen().flatMap((row) => {
      const scenario = Number(row.dataset.scenario);
      return clients.map((client) => ({ scenario, client })).filter((each) => {
        const result = results.get(keyOf(each.scenario, each.client, "endpoint"));
        return result && FOUND.has(result.outcome);
      });
    });
  }
  function neighbours() {
    const all = findings();
    const here = (each) => now && each.scenario === now.scenario && each.client === now.client;
    const place = all.findIndex(here);
    const order = (each) => rows.indexOf(rowOf(each.scenario)) * data.clients.length + (each.client ?? -1);
    const before = all.filter((each) => order(each) < order(now));
    const after = all.filter((each) => order(each) > order(now));
    return { all, place, previous: before.at(-1), next: after[0] };
  }
  const rowOf = (scenario) => rows.find((row) => Number(row.dataset.scenario) === scenario);

  function show(place, content) {
    now = place;
    const { all, place: number, previous, next } = neighbours();
    $("which").textContent = number < 0 ? counted(all.length, "finding") : `Finding ${number + 1} of ${all.length}`;
    $("previous").disabled = !previous;
    $("next").disabled = !next;
    const body = $("evidence-body");
    body.replaceChildren(...content);
    if (!dialog.open) {
      opener = document.activeElement;
      dialog.showModal();
    }
    body.scrollTop = 0;
    body.focus();
    const name = data.scenarios[place.scenario].id + (place.client === null ? "" : `/${data.clients[place.client]}`);
    remember(`#${encodeURIComponent(name)}`);
  }
  function remember(hash) {
    try { history.replaceState(null, "", location.href.split("#")[0] + hash); } catch { /* the address stays */ }
  }
  function step(target) { if (target) openCell(target.scenario, target.client); }
  $("previous").addEventListener("click", () => step(neighbours().previous));
  $("next").addEventListener("click", () => step(neighbours().next));
  $("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    remember("");
    const row = now && rowOf(now.scenario);
    const fromGrid = opener && table.contains(opener);
    const cell = row && visible(row)
      && [...row.cells].find((each) => now.client === null || each.dataset.client === String(now.client));
    now = null;
    if (fromGrid && cell && visible(cell)) grid.to(cell);
  });

  const entry = (name, value) => (value ? make("div", {}, make("dt", {}, name), make("dd", {}, value)) : null);

  function heading(scenario, client) {
    const about = data.scenarios[scenario];
    const title = make("h2", { id: "evidence-title" }, make("code", {}, about.id), client === null ? "" : ` · ${data.clients[client]}`);
    const claims = make("dl", {}, ...[
      entry("Claim", about.proves),
      entry("Source", about.source),
      entry("Needs", about.needs.join(", ")),
      entry("Limit", `${about.limit} s`),
      entry("Only", about.ours ? "rocketwire's own; the reference need not pass it" : ""),
    ].filter(Boolean));
    return [title, claims];
  }

  function openScenario(scenario) {
    const header = make("tr", {}, ...["Client", "Outcome", ...(SIDES.length > 1 ? ["Reference"] : []), "Reason"]
      .map((each) => make("th", { scope: "col" }, each)));
    const lines = data.clients.map((name, client) => {
      const [endpoint, reference] = ["endpoint", "reference"].map((side) => results.get(keyOf(scenario, client, side)));
      const open = make("button", { type: "button" }, name);
      open.addEventListener("click", () => openCell(scenario, client));
      const outcome = (result) => make("td", {}, result ? tag(result.outcome) : "did not run");
      return make("tr", {}, make("th", { scope: "row" }, open), outcome(endpoint),
        SIDES.length > 1 ? outcome(reference) : null, make("td", {}, endpoint ? endpoint.reason : ""));
    });
    const overview = make("table", { class: "overview" }, make("thead", {}, header), make("tbody", {}, ...lines));
    show({ scenario, client: null }, [...heading(scenario, null), overview]);
  }

  async function openCell(scenario, client) {
    const place = { scenario, client };
    const waiting = make("p", { class: "muted", role: "status" }, "Unpacking the evidence …");
    const top = heading(scenario, client);
    show(place, [...top, waiting]);
    const block = data.scenarios[scenario].block;
    let cells = {};
    let trouble = null;
    try {
      if (block) cells = await unpack(block);
    } catch (error) {
      trouble = make("p", { class: "notice", role: "alert" },
        `This browser cannot unpack the evidence (${error}). The file results.json has it.`);
    }
    if (now !== place) return; // another cell was opened meanwhile
    const of = (side) => cells[`${data.clients[client]}/${side}`];
    const sides = SIDES.map((side) => sidePart(side, results.get(keyOf(scenario, client, side)), of(side)));
    waiting.replaceWith(...[trouble, diffPart(of("endpoint")), make("div", { class: "sides" }, ...sides)].filter(Boolean));
  }

  function sidePart(side, result, cell) {
    const name = side === "endpoint" ? data.endpoint : `${data.reference} (reference)`;
    const title = make("h3", {}, name);
    if (!result) return make("section", { class: "side" }, make("header", {}, title), make("p", { class: "muted" }, "It did not run."));
    const head = make("header", {}, title, tag(result.outcome), make("span", { class: "muted" }, `${result.seconds.toFixed(1)} s`));
    const attempts = cell ? cell.attempts : [];
    const open = attempts.findIndex((each) => !each.passed);
    return make("section", { class: "side" }, head,
      result.reason ? make("p", { class: "reason" }, result.reason) : null,
      ...attempts.map((each, number) => attemptPart(each, number, number === open)),
      attempts.length ? null : make("p", { class: "muted" }, "No evidence is kept of it."));
  }

  function attemptPart(attempt, number, open) {
    const title = `Attempt ${number + 1}: ${attempt.passed ? "passed" : "did not pass"}, ${attempt.seconds.toFixed(1)} s`;
    const inside = make("div", { class: "inside" });
    if (attempt.error) inside.append(make("pre", { tabindex: "0", "aria-label": "Error" }, attempt.error));
    if (attempt.log) {
      inside.append(folded(`Client's log, ${counted(attempt.log.split("\n").length, "line")}`,
        () => make("pre", { tabindex: "0", "aria-label": "Client's log" }, attempt.log)));
    }
    if (attempt.frames.length) {
      const all = attempt.frames.length === attempt.of ? "" : `, ${attempt.frames.length} kept, from both ends`;
      inside.append(folded(`Frames: ${attempt.of}${all}`, () => framesPart(attempt.frames)));
    }
    if (!inside.hasChildNodes()) inside.append(make("p", { class: "muted" }, "Nothing more is kept of it."));
    return make("details", { class: "attempt", open }, make("summary", {}, title), inside);
  }

  /** What is drawn at the first opening. */
  function folded(title, draw) {
    const made = make("details", {}, make("summary", {}, title));
    made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(draw()); });
    return made;
  }

  function framesPart(frames) {
    return make("ol", { class: "frames" }, ...frames.map(([at, connection, fromClient, summary, detail]) => {
      const way = fromClient ? "from the client" : "from the endpoint";
      const arrow = make("span", { class: fromClient ? "to" : "from", role: "img", "aria-label": way, title: way }, fromClient ? "→" : "←");
      const line = make("summary", {}, make("span", {}, `+${at} ms`), arrow, make("span", { class: "muted" }, `connection ${connection}`), make("span", {}, summary));
      return make("li", {}, make("details", {}, line, make("pre", { tabindex: "0", "aria-label": summary }, detail || "Its content is not kept here.")));
    }));
  }

  function diffPart(cell) {
    if (!cell || !cell.diffs) return null;
    const title = `Frames that differ from the reference's: ${cell.diffs}${cell.diff.length < cell.diffs ? `, the first ${cell.diff.length} kept` : ""}`;
    const part = folded(title, () => make("ol", {}, ...cell.diff.map((each) => {
      const [expected, actual] = marked(each.expected, each.actual);
      const figure = (name, content) => make("figure", {}, make("figcaption", {}, name), make("pre", { tabindex: "0" , "aria-label": name }, ...content));
      return make("li", {}, make("h3", {}, each.where),
        make("div", { class: "pair" }, figure("Expected: the reference's", expected), figure("Actual: the endpoint's", actual)));
    })));
    part.classList.add("diff");
    return part;
  }

  /** Two texts with what lies between their common beginning and their common end marked. */
  function marked(one, other) {
    if (one === null || other === null) return [one, other].map((each) => [each === null ? make("mark", {}, "none") : each]);
    let start = 0;
    while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
    let end = 0;
    const most = Math.min(one.length, other.length) - start;
    while (end < most && one[one.length - 1 - end] === other[other.length - 1 - end]) end += 1;
    return [one, other].map((each) => [
      each.slice(0, start),
      start < each.length - end ? make("mark", {}, each.slice(start, each.length - end)) : "",
      each.slice(each.length - end),
    ]);
  }

  // --- keys and addresses -------------------------------------------------------------------------------------------

  const help = $("help");
  const single = help.querySelector("input");
  single.checked = kept.get("keys") !== "off";
  single.addEventListener("change", () => kept.set("keys", single.checked ? "on" : "off"));
  $("keys").addEventListener("click", () => help.showModal());
  $("help-close").addEventListener("click", () => help.close());
  help.addEventListener("click", (event) => { if (event.target === help) help.close(); });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
    if (typing && event.key === "Escape" && search.value) {
      event.preventDefault();
      search.value = "";
      apply();
    }
    if (typing || !single.checked) return;
    if (dialog.open) {
      if (event.key === "n") step(neighbours().next);
      else if (event.key === "p") step(neighbours().previous);
    } else if (!help.open) {
      if (event.key === "/") {
        event.preventDefault();
        search.focus();
        search.select();
      } else if (event.key === "?") help.showModal();
    }
  });

  /** Opens what the address names: #SCENARIO, or #SCENARIO/CLIENT. */
  function follow() {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const slash = name.lastIndexOf("/");
    const [scenario, client] = [scenarioPlaces.get(name.slice(0, slash)), clientPlaces.get(name.slice(slash + 1))];
    if (slash > 0 && scenario !== undefined && client !== undefined) openCell(scenario, client);
    else if (scenarioPlaces.has(name)) openScenario(scenarioPlaces.get(name));
  }
  addEventListener("hashchange", follow);
  follow();
})();
