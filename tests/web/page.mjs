// The planner's page in real browsers. ONLY: a part of the names of the tests that are run.
import { browser, check, finish } from "../browser/harness.mjs";
import { closeServer } from "./desk.mjs";
import * as firefox from "./firefox.mjs";
import * as hold from "./hold.mjs";
import * as use from "./use.mjs";

for (const tests of [use, hold, firefox])
    for (const [name, test] of Object.entries(tests)) {
        if (!name.includes(process.env.ONLY || "")) continue;
        try {
            await test();
        } catch (error) {
            check(name, false, error.message);
        }
    }
await browser.close();
closeServer();
finish();
