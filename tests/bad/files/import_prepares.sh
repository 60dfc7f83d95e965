# No training either, although a recipe is named.
python prepare_gpt_sft_packed_data.py --recipe llama3_8b_sft_config --output data
