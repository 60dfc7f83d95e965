_astra_gpus() { compadd -a astra_gpus; }
_astra_models() {
    local ret=1
    compadd -a astra_models && ret=0
    _files && ret=0
    return ret
}
_astra_gpu_settings() {
    if compset -P '*='; then _message value; else compadd -S = -a astra_gpus; fi
}
_astra_parameters() {
    if compset -P '*='; then _message value; else compadd -S = -a astra_parameters; fi
}
_astra_pool() {
    if compset -P '*:'; then compadd -S '' -a astra_gpus; else _files; fi
}
