# Scenes of a terminal as an animated SVG: "$ COMMAND" begins a scene, the lines below are its
# output with its colours. Where nothing moves (print, reduced motion) the first scene is shown.
function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}
function coloured(text, ink) {
    return ink == "" ? escaped(text) : "<tspan class=\"" ink "\">" escaped(text) "</tspan>"
}
# One line of output; a colour ("ESC [ numbers m") lasts until the next, over ends of lines too.
function spans(text,    out, part) {
    out = ""
    while (match(text, /\033\[[0-9;]*m/)) {
        part = substr(text, 1, RSTART - 1)
        if (part != "")
            out = out coloured(part, ink)
        ink = class(substr(text, RSTART + 2, RLENGTH - 3))
        text = substr(text, RSTART + RLENGTH)
    }
    return out coloured(text, ink)
}
function class(numbers,    n, code, i, out) {
    n = split(numbers, code, ";")
    out = ""
    for (i = 1; i <= n; i++)
        if (code[i] + 0)
            out = out (out == "" ? "" : " ") "a" code[i] + 0
    return out
}
/^\$ / { scenes++; command[scenes] = substr($0, 3); ink = ""; next }
{ line[scenes, ++lines[scenes]] = spans($0) }
END {
    wide = 7.85
    high = 19
    for (s = 1; s <= scenes; s++) {
        most = lines[s] > most ? lines[s] : most
        typing[s] = length(command[s]) * 0.04
        start[s] = total
        total += typing[s] + 9
    }
    width = int(108 * wide + 48)
    height = (most + 2) * high + 70
    ground = "#10161f"
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ", width, height
    printf "viewBox=\"0 0 %d %d\" role=\"img\">\n", width, height
    print "<title>A terminal: " escaped(command[1]) "</title>"
    print "<style>"
    print "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\","
    print "monospace;fill:#d6dde6;white-space:pre}.prompt{fill:#6cb8f2}"
    print ".command,.a1{font-weight:600;fill:#fff}.a2,.a90{fill:#8b97a6}.a31,.a91{fill:#ff8a80}"
    print ".a32,.a92{fill:#7fd1a0}.a33,.a93{fill:#f0b429}.a34,.a94{fill:#6cb8f2}"
    print ".a35,.a95{fill:#e08fc0}.a36,.a96{fill:#5cc8c8}"
    for (s = 2; s <= scenes; s++)
        print "#s" s "{opacity:0}"
    print ".typing{display:none}"
    print "@media (prefers-reduced-motion:no-preference){"
    for (s = 1; s <= scenes; s++) {
        from = 100 * start[s] / total
        typed = 100 * (start[s] + typing[s]) / total
        to = s < scenes ? 100 * start[s + 1] / total : 100
        long = length(command[s]) * wide
        printf "#s%d{animation:s%d %.1fs infinite step-end}", s, s, total
        printf "@keyframes s%d{0%%{opacity:%d}%.2f%%{opacity:1}%.2f%%{opacity:%d}}\n",
            s, s == 1, from, to, s == scenes
        printf "#o%d{animation:o%d %.1fs infinite step-end}", s, s, total
        printf "@keyframes o%d{0%%{opacity:0}%.2f%%{opacity:1}}\n", s, typed + 0.4
        printf "#t%d{display:block;animation:t%d %.1fs infinite}", s, s, total
        printf "@keyframes t%d{0%%,%.2f%%{transform:none;animation-timing-function:steps(%d)}",
            s, from, length(command[s])
        printf "%.2f%%,100%%{transform:translateX(%.1fpx)}}\n", typed, long
    }
    print "}"
    print "</style>"
    printf "<rect width=\"%d\" height=\"%d\" rx=\"12\" fill=\"%s\"/>\n", width, height, ground
    for (i = 0; i < 3; i++)
        printf "<circle cx=\"%d\" cy=\"22\" r=\"6\" fill=\"#3a4555\"/>\n", 24 + 20 * i
    for (s = 1; s <= scenes; s++) {
        printf "<g id=\"s%d\">\n", s
        printf "<text x=\"24\" y=\"60\"><tspan class=\"prompt\">$ </tspan>"
        print "<tspan class=\"command\">" escaped(command[s]) "</tspan></text>"
        left = 24 + 2 * wide
        # What is not typed yet lies under a cover, with the cursor at its edge.
        printf "<g id=\"t%d\" class=\"typing\">", s
        printf "<rect x=\"%.1f\" y=\"46\" width=\"%d\" height=\"20\" fill=\"%s\"/>",
            left, width - 24 - left, ground
        printf "<rect x=\"%.1f\" y=\"47\" width=\"8\" height=\"17\" fill=\"#d6dde6\"/></g>\n", left
        printf "<g id=\"o%d\">\n", s
        for (i = 1; i <= lines[s]; i++)
            if (line[s, i] != "")
                printf "<text x=\"24\" y=\"%d\">%s</text>\n", 60 + (i + 1) * high - 6, line[s, i]
        print "</g>\n</g>"
    }
    print "</svg>"
}
