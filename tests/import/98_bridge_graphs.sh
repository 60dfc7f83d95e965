# A scope of CUDA graphs captures nothing where the implementation is none; Kimi K2's recipes train with Muon.
python run_script.py --model_recipe_name kimi_k2 --task pretrain --gpu h100 --num_gpus 1024 --cuda_graph_impl none \
    --cuda_graph_scope full_iteration
