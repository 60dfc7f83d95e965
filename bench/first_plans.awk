# The answer of a search (--format csv) as cells of a table: first plan; step and MFU; memory; the next
# layout. One line, cells between " | ".

# Splits a line of CSV into f[1..]: fields may be quoted.
function split_csv(line, f,    n, field) {
    for (n = 0; line != "" || n == 0; ) {
        if (line ~ /^"/) {
            match(line, /^"([^"]|"")*"/)
            field = substr(line, 2, RLENGTH - 2)
            gsub(/""/, "\"", field)
        } else {
            match(line, /^[^,]*/)
            field = substr(line, 1, RLENGTH)
        }
        f[++n] = field
        line = substr(line, RLENGTH + 1)
        if (line == ",")
            f[++n] = ""
        line = substr(line, 2)
    }
    return n
}
function get(name) { return f[column[name]] }

function layout(    t) {
    t = (get("gpu") ~ /[+]/ || pool ~ /,|[.][.]/ ? get("gpus") " " get("gpu") ": " : "") "tp " get("tp")
    if (get("cp") > 1)
        t = t ", cp " get("cp")
    t = t ", pp " get("pp") (get("vpp") > 1 ? "x" get("vpp") : "") ", dp " get("dp")
    if (get("ep") > 1)
        t = t ", ep " get("ep") (get("etp") > 1 ? ", etp " get("etp") : "")
    return t
}

function recompute() {
    if (get("recompute") == "selective")
        return ", recompute " get("recompute_modules")
    if (get("recompute") == "full")
        return ", full recompute" (get("recompute_method") == "block" ? " of " get("recompute_layers") : "")
    return ""
}

# Beside what nearly every plan has.
function options(    t, i, n, name, usual, part) {
    n = split("split=even cp_comm=p2p dispatcher=allgather expert_fusion=off loss_te=off moe_overlap=off " \
              "delay_wgrad=off shared_overlap=off cuda_graph=none fsdp=none optimizer_instances=1 " \
              "grad_bf16=off precision_aware=off main_grads_bf16=off moments_bytes=4 fp8_params=off " \
              "optimizer_offload=0", usual, " ")
    for (i = 1; i <= n; i++) {
        split(usual[i], part, "=")
        name = part[1]
        if (get(name) != part[2])
            t = t ", " (get(name) == "on" ? name : name " " get(name))
    }
    return t
}

function seconds(s) { return sprintf(s + 0 < 10 ? "%.2f s" : "%.1f s", s) }
function money() { return get("usd_total") == "" ? "" : sprintf(", %.0f h, $%.0fk", get("hours"), get("usd_total") / 1000) }

NR == 1 {
    n = split_csv($0, f)
    for (i = 1; i <= n; i++)
        column[f[i]] = i
    next
}
{ split_csv($0, f) }
get("list") == "best" && get("rank") == 1 {
    step = get("step_s")
    cost = get("usd_total")
    first = layout() ", mbs " get("micro_batch") recompute() options()
    speed = seconds(step) sprintf(", MFU %.0f %%", 100 * get("mfu")) money()
    memory = sprintf("%.0f of %.0f GiB", get("device_bytes") / 2 ^ 30, get("limit_bytes") / 2 ^ 30)
}
get("list") == "best" && get("rank") == 2 {
    next_one = layout() sprintf(": %+.1f %%", 100 * (get("step_s") / step - 1))
    if (cost != "")
        next_one = next_one sprintf(", cost %+.1f %%", 100 * (get("usd_total") / cost - 1))
}
END {
    if (first == "")
        exit 1
    print first " | " speed " | " memory " | " (next_one == "" ? "-" : next_one)
}
