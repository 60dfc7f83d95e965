# One page of the site, from what cmark-gfm --sourcepos makes of it.
#
# From the command line: page (its path in the project), contents, links, search: files to write.
# Prints the body. Headings get the names that GitHub gives them; links to pages lead to .html; wide
# tables and code scroll by themselves; commands are told from what they print.
function slug(text,    name) {
    name = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", name)
    gsub(/ /, "-", name)
    if (name in used)
        name = name "-" used[name]++
    else
        used[name] = 1
    return name
}
function plain(html) {
    gsub(/<[^>]*>/, "", html)
    gsub(/&lt;/, "<", html)
    gsub(/&gt;/, ">", html)
    gsub(/&quot;/, "\"", html)
    gsub(/&amp;/, "\\&", html)
    return html
}
function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    gsub(/[\001-\037]/, " ", text)
    gsub(/  +/, " ", text)
    gsub(/</, "\\u003c", text)
    return "\"" text "\""
}
# A section of the search: page, anchor, title of the page, heading, text.
function flush() {
    if (heading != "")
        printf "[%s,%s,%s,%s,%s],\n", quoted(target(page)), quoted(anchor), quoted(title),
            quoted(heading), quoted(text) >>search
    text = ""
}
function target(file) {
    sub(/README\.md/, "index.html", file)
    sub(/\.md/, ".html", file)
    return file
}
# Notes every link with the line of its block, and leads those to pages to what becomes of them.
function lead(html,    out, attribute, link) {
    out = ""
    while (match(html, /(href|src)="[^"]*"/)) {
        attribute = substr(html, RSTART, index(substr(html, RSTART), "=") - 1)
        link = substr(html, RSTART + length(attribute) + 2, RLENGTH - length(attribute) - 3)
        print line "\t" attribute "\t" link >>links
        out = out substr(html, 1, RSTART - 1) attribute "=\""
        out = out (link ~ /^[a-z]+:/ ? link "\" rel=\"noreferrer\"" : target(link) "\"")
        html = substr(html, RSTART + RLENGTH)
    }
    return out html
}
function code(row) {
    if (shell && row ~ /^\$ / || more) {
        prompt = more ? "" : "<span class=\"prompt\">$ </span>"
        if (!more)
            row = substr(row, 3)
        more = row ~ /\\$/
        remark = ""
        if (match(row, /  +# .*$/)) {
            remark = "<span class=\"remark\">" substr(row, RSTART) "</span>"
            row = substr(row, 1, RSTART - 1)
        }
        return prompt "<span class=\"command\">" row "</span>" remark
    }
    return shell ? "<span class=\"output\">" row "</span>" : row
}
BEGIN { printf "" >links; printf "" >contents }

fenced && /^<\/code><\/pre>/ {
    fenced = more = 0
    print "</code></pre></div>"
    next
}
fenced {
    text = text " " plain($0)
    print code($0)
    next
}
match($0, /^.*data-sourcepos="[0-9]+/) {
    line = substr($0, 1, RLENGTH)
    sub(/.*"/, "", line)
}
{ gsub(/ data-sourcepos="[^"]*"/, "") }
/^<pre><code/ {
    fenced = 1
    start = match($0, /<code[^>]*>/) ? RSTART + RLENGTH : 1
    first = substr($0, start)
    shell = first ~ /^\$ /
    text = text " " plain(first)
    printf "<div class=\"code\"><pre tabindex=\"0\">%s", substr($0, 6, start - 6)
    if (first == "</code></pre>") { # nothing in it
        fenced = 0
        print "</code></pre></div>"
    } else
        print code(first)
    next
}
/^<h[1-6]>.*<\/h[1-6]>$/ {
    level = substr($0, 3, 1)
    inner = substr($0, 5, length($0) - 9)
    flush()
    heading = plain(inner)
    anchor = slug(heading)
    if (level == 1 && title == "")
        title = heading
    if (level == 2 || level == 3) {
        bare = inner
        gsub(/<\/?a[^>]*>/, "", bare)
        printf "<li class=\"level%d\"><a href=\"#%s\">%s</a></li>\n", level, anchor, bare >>contents
    }
    mark = "<a class=\"anchor\" href=\"#" anchor "\" aria-hidden=\"true\" tabindex=\"-1\">#</a>"
    if (level == 1)
        mark = ""
    printf "<h%d id=\"%s\">%s%s</h%d>\n", level, anchor, lead(inner), mark, level
    next
}
/^<table>/ { print "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">" }
/^<\/table>/ { sub(/^<\/table>/, "</table></div>") }
{
    text = text " " plain($0)
    print lead($0)
}
END { flush() }
