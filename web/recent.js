// Questions that were answered, in this browser alone.
const RECENT = "astra-recent",
    MOST_RECENT = 12,
    LONGEST = 20000;

function recentList() {
    try {
        const list = JSON.parse(localStorage.getItem(RECENT) || "[]");
        return Array.isArray(list)
            ? list.filter((r) => typeof r.title === "string" && String(r.address).startsWith("#q="))
            : [];
    } catch {
        return [];
    }
}

function keepRecent(list) {
    try {
        localStorage.setItem(RECENT, JSON.stringify(list));
    } catch {
        /* not kept */
    }
    drawRecent(list);
}

async function remember(question) {
    const address = await addressOf(question),
        title = titleOf(question);
    if (address.length > LONGEST) return;
    keepRecent(
        [{ title, address }, ...recentList().filter((r) => r.address !== address)].slice(
            0,
            MOST_RECENT,
        ),
    );
}

function drawRecent(list = recentList()) {
    byId("recent").hidden = list.length === 0;
    byId("recent")
        .querySelector("ul")
        .replaceChildren(
            ...list.map(({ title, address }) =>
                el(
                    "li",
                    {},
                    el(
                        "a",
                        {
                            href: address,
                            title: decodeURIComponent(
                                address
                                    .slice(3)
                                    .slice(0, 200)
                                    .replace(/%(?![0-9A-F]{2})|%.?$/g, ""),
                            ),
                        },
                        title,
                    ),
                ),
            ),
        );
}
