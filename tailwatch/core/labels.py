"""What tells a row of training from one that is about something else. Data, no logic."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LABEL_KEYS = ("mode", "split", "phase", "stage", "event", "type", "kind")
"""Keys whose text may say what a row is."""

EVAL_LABELS = _words("val valid validation eval evaluation evaluate test dev predict")
METADATA_LABELS = _words(
    """
    config configuration args arguments hparams hyperparameters params parameters meta metadata
    header env environment system init start started run_start train_start begin
    """
)
END_LABELS = _words(
    """
    end ended finish finished done summary complete completed train_end run_end training_complete
    training_end
    """
)

METADATA_KEYS = _words(
    """
    log_history env_info max_grad_norm num_train_epochs per_device_train_batch_size hparams
    hyperparameters model_args training_args last_model_checkpoint weight_decay
    gradient_accumulation_steps warmup_steps warmup_ratio
    """
)
"""Keys of a row that describes the run, and is no point of it unless it has a loss."""

DATA_KEYS = _words(
    """
    prompt prompts completion completions response responses text messages conversations
    instruction question answer chosen rejected query input_ids input inputs output outputs
    problem solution generation generations content
    """
)
"""Keys whose text or list tells an example of a data set from a row of metrics."""
