# Holds links of the site to what there is: check.awk FILES ANCHORS LINKS
# FILES: paths in the site, one a line. ANCHORS: page and name. LINKS: page of the project, line of
# its block, attribute, link. Names file and line of what leads nowhere, and of what a page would
# load from elsewhere.
function target(file) {
    sub(/README\.md$/, "index.html", file)
    sub(/\.md$/, ".html", file)
    return file
}
function joined(folder, link,    n, part, i, out, depth) {
    n = split((folder == "" ? "" : folder "/") link, part, "/")
    depth = 0
    for (i = 1; i <= n; i++)
        if (part[i] == "..") {
            if (--depth < 0)
                return ""
        } else if (part[i] != "." && part[i] != "")
            out[++depth] = part[i]
    link = out[1]
    for (i = 2; i <= depth; i++)
        link = link "/" out[i]
    return link
}
# The line that has the link, from that of its block on.
function where(page, line, link,    row, n, found) {
    n = 0
    while ((getline row <page) > 0)
        if (++n >= line && !found && index(row, link))
            found = n
    close(page)
    return page ":" (found ? found : line)
}
function broken(why) {
    print where(page, line, link) ": " link " " why
    bad = 1
}
BEGIN { FS = "\t" }
FILENAME == ARGV[1] { there[$1] = 1; next }
FILENAME == ARGV[2] { named[$1 "#" $2] = 1; next }
{
    page = $1
    line = $2
    link = $4
    if (link ~ /^[a-z]+:/ || link ~ /^\/\//) {
        if ($3 == "src")
            broken("would be loaded from elsewhere")
        next
    }
    folder = page
    if (!sub(/\/[^\/]*$/, "", folder))
        folder = ""
    file = link
    sub(/#.*/, "", file)
    file = file == "" ? target(page) : joined(folder, target(file))
    if (!(file in there))
        broken("does not exist")
    else if (link ~ /#/ && !((file substr(link, index(link, "#"))) in named))
        broken("has no such heading")
}
END { exit bad }
