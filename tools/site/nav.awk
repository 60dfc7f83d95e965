# The order of the site's pages: nav.awk doc/README.md doc/evidence/README.md CONTENTS...
# Prints group, page, label, one line a page, separated by tabs; "-" is no group. A page belongs to
# the heading of doc/README.md under which it is named first, those of the evidence to one of their
# own.
function add(group, page, label) {
    if (page in seen)
        return
    seen[page] = 1
    gsub(/`/, "", label)
    if (page !~ /^doc\/commands\//)
        label = toupper(substr(label, 1, 1)) substr(label, 2)
    print group "\t" page "\t" label
}
# "doc", "../CHANGELOG.md" -> "CHANGELOG.md"
function path(folder, link) {
    sub(/#.*/, "", link)
    while (sub(/^\.\.\//, "", link))
        if (!sub(/\/[^\/]*$/, "", folder))
            folder = ""
    return (folder == "" ? "" : folder "/") link
}
BEGIN {
    add("-", "README.md", "Astra")
    add("-", "doc/README.md", "The manual")
}
FNR == 1 {
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
    group = folder == "doc/evidence" ? "Evidence" : ""
    if (group != "")
        add(group, FILENAME, "Overview")
}
/^## / && folder == "doc" { group = substr($0, 4) }
group != "" {
    rest = $0
    while (match(rest, /\[[^]]*\]\([^) ]*\.md(#[^) ]*)?\)/)) {
        link = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        label = link
        sub(/^\[/, "", label)
        sub(/\]\(.*/, "", label)
        sub(/.*\]\(/, "", link)
        sub(/\)$/, "", link)
        page = path(folder, link)
        if ((page ~ /^(doc\/evidence|data)\//) == (folder == "doc/evidence"))
            add(group, page, label)
    }
}
