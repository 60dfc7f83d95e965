launch script, program pretrain_gpt.py, line 2, 32 GPUs (4 x 8)
--group-query-attention
--num-query-groups 1
--attention-backend flash
--position-embedding-type none
--quick-geglu
--num-layers 40
--hidden-size 6144
--num-attention-heads 48
--init-method-std 0.01275
--seq-length 8192
--max-position-embeddings 8192
--micro-batch-size 1
--global-batch-size 512
--tensor-model-parallel-size 4
--pipeline-model-parallel-size 4
--sequence-parallel
--bf16
open: tests/import/22_bigcode.sh:7: --tokenizer-type is 'TokenizerFromFile', expected one of: BertWordPieceLowerCase BertWordPieceCase GPT2BPETokenizer SentencePieceTokenizer GPTSentencePieceTokenizer HuggingFaceTokenizer Llama2Tokenizer TikTokenizer MultimodalTokenizer NullTokenizer NullMultimodalTokenizer SFTTokenizer
note: --attention-head-type: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: line 6: --position-embedding-type: ALiBi is planned as attention without position embeddings
note: left out, no effect on time or memory: --tokenizer-file, --log-batch-size-to-tensorboard
