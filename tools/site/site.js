// The manual in a browser: theme, copy buttons, the section being read, the search. It works from
// disk too: the index is a script (search.js) that is loaded when the field is first used.
try {
    const kept = localStorage.getItem("astra-theme"),
        dark = matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme =
        kept === "light" || kept === "dark" ? kept : dark ? "dark" : "light";
} catch {
    /* set by startTheme() */
}

// A block with commands gives these alone, without prompts and output.
function copyButtons() {
    for (const block of document.querySelectorAll(".code")) {
        const commands = [...block.querySelectorAll(".command")].map((node) => node.textContent);
        const text = commands.length ? commands.join("\n") : block.textContent.trimEnd();
        const button = el("button", { class: "copy", type: "button" }, "Copy");
        button.addEventListener("click", () => copyText(text + "\n", button));
        block.append(button);
    }
}

// Marks the section that is read in the list on the right.
function followReading() {
    const links = [...document.querySelectorAll("#contents a")],
        heads = links.map((link) => byId(decodeURIComponent(link.hash.slice(1))));
    const mark = () => {
        let now = heads.findLastIndex((head) => head.getBoundingClientRect().top < 120);
        if (innerHeight + scrollY >= document.body.scrollHeight - 4) now = Math.max(now, 0);
        links.forEach((link, k) => link.classList.toggle("here", k === now));
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
}

// Below this width the list of pages is folded away.
function foldPages() {
    if (innerWidth <= 820) byId("pages-fold").open = false;
    const current = document.querySelector("#pages [aria-current]");
    if (current && current.offsetTop > innerHeight - 160)
        byId("pages").scrollTop = current.offsetTop - innerHeight / 2;
}

const MOST_FOUND = 14;

// How well a section answers: every word must be in it; words in titles and headings count more,
// whole words more than parts, many mentions a little more than one. 0: not at all.
function score([page, , title, heading, text], words) {
    const fields = [
        [title.toLowerCase(), 8],
        [heading.toLowerCase(), 6],
        [text.toLowerCase(), 1],
    ];
    let total = 0;
    for (const word of words) {
        let best = 0;
        const bare = word.replace(/[^a-z0-9]/g, "\\$&"),
            whole = new RegExp("(^|[^a-z0-9])" + bare + "($|[^a-z0-9])");
        for (const [field, weight] of fields)
            if (field.includes(word))
                best = Math.max(best, whole.test(field) ? 2 * weight : weight);
        if (best === 0) return 0;
        total += best + 0.3 * Math.min(5, fields[2][0].split(word).length - 1);
    }
    return page.startsWith("doc/evidence/") || page.startsWith("C") ? total * 0.8 : total;
}

// Text with the words marked; `around`: no more of it than what stands about the first.
function marked(text, words, around) {
    const lower = text.toLowerCase();
    if (around) {
        const first = Math.min(...words.map((w) => lower.indexOf(w)).filter((at) => at >= 0));
        const start = Number.isFinite(first) ? Math.max(0, first - 50) : 0,
            piece = marked(text.slice(start, start + 150), words);
        return [start > 0 ? "\u2026" : "", ...piece, start + 150 < text.length ? "\u2026" : ""];
    }
    const parts = [];
    for (let at = 0; at < text.length; ) {
        const [next, word] = words
            .map((w) => [lower.indexOf(w, at), w])
            .filter(([k]) => k >= 0)
            .sort(([a, v], [b, w]) => a - b || w.length - v.length)[0] || [text.length, ""];
        parts.push(text.slice(at, next));
        if (word) parts.push(el("mark", {}, text.slice(next, next + word.length)));
        at = next + (word.length || 1);
    }
    return parts;
}

function find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return MANUAL.map((section) => [score(section, words), section])
        .filter(([points]) => points > 0)
        .sort(([a], [b]) => b - a)
        .slice(0, MOST_FOUND)
        .map(([, [page, anchor, title, heading, body]], k) =>
            el(
                "a",
                {
                    href: document.body.dataset.root + page + "#" + anchor,
                    role: "option",
                    id: "found-" + k,
                    "aria-selected": String(k === 0),
                },
                el("b", {}, marked(heading, words)),
                heading === title ? "" : el("span", { class: "of" }, " \u00b7 " + title),
                el("span", { class: "piece" }, marked(body.trim(), words, true)),
            ),
        );
}

function startSearch() {
    const field = byId("find"),
        list = byId("found");
    const selected = () => list.querySelector("[aria-selected=true]");
    const choose = (node) => {
        if (!node) return;
        selected().setAttribute("aria-selected", "false");
        node.setAttribute("aria-selected", "true");
        node.scrollIntoView({ block: "nearest" });
        field.setAttribute("aria-activedescendant", node.id);
    };
    const show = (open) => {
        list.hidden = !open;
        field.setAttribute("aria-expanded", String(open));
        if (!open) field.removeAttribute("aria-activedescendant");
    };
    const answer = () => {
        if (typeof MANUAL === "undefined") return;
        const found = find(field.value);
        list.replaceChildren(...(found.length ? found : [el("p", {}, "Nothing found.")]));
        show(field.value.trim() !== "");
    };
    const load = () => {
        const script = el("script", { src: document.body.dataset.root + "search.js" });
        script.addEventListener("load", answer);
        document.head.append(script);
    };
    field.addEventListener("focus", load, { once: true });
    field.addEventListener("focus", answer);
    field.addEventListener("input", answer);
    field.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
            show(false);
            field.blur();
        } else if (event.key === "Enter" && !list.hidden && selected()) selected().click();
        else if (event.key === "ArrowDown" && selected()) choose(selected().nextElementSibling);
        else if (event.key === "ArrowUp" && selected()) choose(selected().previousElementSibling);
        else return;
        event.preventDefault();
    });
    list.addEventListener("click", () => show(false));
    document.addEventListener("pointerdown", (event) => {
        if (!event.target.closest(".find")) show(false);
    });
    document.addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.target.closest("input, textarea, select")) return;
        event.preventDefault();
        field.focus();
    });
}

document.addEventListener("DOMContentLoaded", () => {
    startTheme();
    foldPages();
    copyButtons();
    followReading();
    startSearch();
});
