// Pages of reports in a real browser: everything drawn, nothing loaded, no name runs as a script.
// ONLY: a part of the names of the tests that are run.
import { browser, check, finish } from "./harness.mjs";
import * as kinds from "./kinds.mjs";
import * as look from "./look.mjs";
import * as tables from "./tables.mjs";
import * as use from "./use.mjs";

for (const tests of [kinds, use, look, tables])
    for (const [name, test] of Object.entries(tests)) {
        if (!name.includes(process.env.ONLY || "")) continue;
        try {
            await test();
        } catch (error) {
            check(name, false, error.message);
        }
    }
await browser.close();
finish();
