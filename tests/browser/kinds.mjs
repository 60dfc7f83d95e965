// Pages of every kind of answer open whole, wide and narrow, light and dark.
import { browser, check, main, open, report, same, shot } from "./harness.mjs";

export async function everyKindOpens() {
    const kinds = [
        main,
        report(
            "several-types",
            "search",
            "--model",
            "llama3-70b",
            "--cluster",
            "1..16x8:H100,1..16x8:A100",
            "--mix",
            "1",
            "--top",
            "30",
        ),
        report(
            "mixed",
            "search",
            "--model",
            "llama3-8b",
            "--cluster",
            "2x8:A100,1x8:H100",
            "--gpus",
            "24",
        ),
        report(
            "own-meshes",
            "search",
            "--model",
            "llama3-8b",
            "--cluster",
            "2x8:A100,1x8:H100",
            "--gpus",
            "24",
            "--engine",
            "flagscale",
        ),
        report(
            "money",
            "search",
            "--model",
            "llama3-70b",
            "--cluster",
            "1..64x8:H100,1..64x8:B200",
            "--tokens",
            "1T",
            "--budget",
            "1.5M",
            "--deadline",
            "60d",
        ),
        report(
            "outages",
            "search",
            "--model",
            "llama3-8b",
            "--cluster",
            "1..8x8:H100",
            "--tokens",
            "1T",
            "--mtbf",
            "5000h",
        ),
        report("no-price", "search", "--model", "llama3-8b", "--cluster", "1x8:H800"),
        report(
            "one-plan",
            "search",
            "--model",
            "llama3-8b",
            "--cluster",
            "1x8:H100",
            "--top",
            "1",
            "--gpus",
            "8",
        ),
        report(
            "moe",
            "search",
            "--model",
            "deepseek-v3",
            "--cluster",
            "64x8:H100",
            "--what-if",
            "gpus=256",
        ),
        report(
            "many-stages",
            "search",
            "--model",
            "llama3-405b",
            "--cluster",
            "128x8:H100",
            "--set",
            "pp=32,63,126",
            "--global-batch",
            "2048",
        ),
        report(
            "estimate",
            "estimate",
            "--model",
            "llama3-8b",
            "--cluster",
            "1x8:H100",
            "--set",
            "tp=2",
            "--set",
            "dist_opt=on",
        ),
        report(
            "too-big",
            "estimate",
            "--model",
            "llama3-70b",
            "--cluster",
            "1x8:H100",
            "--set",
            "tp=2",
        ),
        report(
            "impossible",
            "explain",
            "--model",
            "llama3-8b",
            "--cluster",
            "1x8:H100",
            "--set",
            "pp=3",
        ),
        report(
            "compared",
            "compare",
            "best",
            "tp=4 pp=2",
            "cluster=1x8:B200",
            "gpus=4 tp=2,pp=2",
            "--model",
            "llama3-8b",
            "--cluster",
            "1x8:H100",
        ),
    ];
    for (const made of kinds)
        for (const [width, theme] of [
            [1440, "light"],
            [390, "dark"],
        ]) {
            const page = await open(browser, made, { width, theme });
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            check(`${made.name}: no sideways scrolling at ${width}`, wide <= width, wide);
            const odd = await page.evaluate(() =>
                /NaN|undefined|Infinity|\[object/.exec(
                    document.body.innerText +
                        [...document.querySelectorAll("svg *")]
                            .map((n) => [...n.attributes].map((a) => a.value))
                            .join(" "),
                ),
            );
            check(`${made.name}: every figure is one`, odd === null, odd);
            const unnamed = await page.evaluate(
                () =>
                    [
                        ...document.querySelectorAll(
                            "svg:not([aria-hidden]), button, select, input, [role=region]",
                        ),
                    ].filter(
                        (n) =>
                            !(
                                n.getAttribute("aria-label") ||
                                n.textContent.trim() ||
                                n.closest("label")
                            ),
                    ).length,
            );
            same(`${made.name}: everything has a name`, unnamed, 0);
            await shot(page, `${made.name}-${width}-${theme}`);
            await page.context().close();
        }
    const text = async (made) => {
        const page = await open(browser, made);
        const t = await page.innerText("body");
        await page.context().close();
        return t;
    };
    check(
        "no price is said",
        (await text(kinds.find((k) => k.name === "no-price"))).includes("No price is known"),
    );
    check(
        "infeasible is said",
        (await text(kinds.find((k) => k.name === "too-big"))).includes("not feasible"),
    );
    check(
        "impossible is said",
        (await text(kinds.find((k) => k.name === "impossible"))).includes("not feasible"),
    );
}
