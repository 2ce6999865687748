"use strict";
// The live part of a page is drawn by the server; we fetch it anew while the page is looked at.
const live = document.getElementById("live");
// What is scrolled stays where it is, and who went somewhere by keyboard is still there.
function replace(text) {
  const scrolled = () => [...live.querySelectorAll("pre, .scroll")];
  const places = scrolled().map((part) => [part.scrollLeft, part.scrollTop]);
  const focused = live.contains(document.activeElement) && document.activeElement.getAttribute("href");
  live.innerHTML = text;
  scrolled().forEach((part, index) => { if (places[index]) [part.scrollLeft, part.scrollTop] = places[index]; });
  if (focused) [...live.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus({preventScroll: true});
}
async function refresh() {
  if (live && !document.hidden) {
    try {
      const answer = await fetch(live.dataset.from, {headers: {Accept: "text/html"}});
      if (answer.redirected || answer.status === 401) { location.href = "/login"; return; }
      if (answer.ok) { replace(await answer.text()); live.classList.remove("stale"); }
    } catch { live.classList.add("stale"); }
  }
  setTimeout(refresh, 2000);
}
if (live) setTimeout(refresh, 2000);
async function ask(method, path, body) {
  const options = {method};
  if (body !== undefined) { options.headers = {"Content-Type": "application/json"}; options.body = JSON.stringify(body); }
  const answer = await fetch(path, options);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error.message + (told.error.hint ? "; " + told.error.hint : ""));
  return told;
}
const actions = document.querySelector(".actions");
if (actions) {
  const job = encodeURIComponent(actions.dataset.job), told = document.getElementById("told");
  const tell = (work) => work.then((now) => { told.textContent = "it is " + now.state; }, (error) => { told.textContent = error.message; });
  actions.addEventListener("click", (event) => {
    const {verb, sure} = event.target.dataset;
    if (verb && (!sure || confirm(sure))) tell(ask("POST", `/api/jobs/${job}/${verb}`));
  });
  actions.addEventListener("change", (event) => {
    const what = event.target.dataset.set;
    if (what && event.target.value !== "") tell(ask("PUT", `/api/jobs/${job}/${what}`, {[what]: Number(event.target.value)}));
  });
}
const form = document.getElementById("what-if");
if (form) {
  const shown = document.getElementById("plan"), carry = document.getElementById("carry-out");
  const changes = () => {
    const found = {weights: {}, ranks: {}, mips: {}};
    for (const field of form.querySelectorAll("input")) {
      if (field.value === "") continue;
      const key = field.name === "mips" ? field.dataset.node : field.dataset.job;
      found[{weight: "weights", rank: "ranks", mips: "mips"}[field.name]][key] = Number(field.value);
    }
    return found;
  };
  const line = (name, text) => {
    const item = document.createElement("li"), strong = document.createElement("b");
    strong.textContent = name + " "; item.append(strong, text); return item;
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const plan = await ask("POST", "/api/what-if", changes()), list = document.createElement("ul");
      for (const [job, grant] of Object.entries(plan.grants)) list.append(line(job, grant.reason));
      for (const [job, reason] of Object.entries(plan.refusals)) list.append(line(job, reason));
      const head = document.createElement("p");
      head.textContent = `importance ${plan.importance.toPrecision(4)}, ${Math.round(plan.mips_used)} of ${Math.round(plan.mips)} mips; ${plan.note}`;
      shown.replaceChildren(head, list); carry.hidden = false;
    } catch (error) { shown.textContent = error.message; carry.hidden = true; }
  });
  carry.addEventListener("click", async () => {
    const {weights, ranks, mips} = changes();
    try {
      for (const [job, weight] of Object.entries(weights)) await ask("PUT", `/api/jobs/${encodeURIComponent(job)}/weight`, {weight});
      for (const [job, rank] of Object.entries(ranks)) await ask("PUT", `/api/jobs/${encodeURIComponent(job)}/rank`, {rank});
      if (Object.keys(mips).length) await ask("PUT", "/api/capacity", {mips});
      shown.textContent = "it is being carried out"; carry.hidden = true; form.reset();
    } catch (error) { shown.textContent = error.message; }
  });
}
