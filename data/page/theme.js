// Light, dark, or as the system is.
const THEMES = ["auto", "light", "dark"];

function startTheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)"),
        button = byId("theme");
    let theme = "auto";
    try {
        theme = THEMES.includes(localStorage.getItem("astra-theme"))
            ? localStorage.getItem("astra-theme")
            : "auto";
    } catch {
        /* not kept */
    }
    const apply = () => {
        document.documentElement.dataset.theme =
            theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
        button.textContent = "Theme: " + theme;
    };
    button.addEventListener("click", () => {
        theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
        try {
            localStorage.setItem("astra-theme", theme);
        } catch {
            /* not kept */
        }
        apply();
    });
    dark.addEventListener("change", apply);
    apply();
}
