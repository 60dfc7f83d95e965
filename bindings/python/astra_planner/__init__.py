"""Which GPUs, how many, and how to split a Transformer over them: Astra from Python.

    import astra_planner as astra

    found = astra.search(model="llama3-70b", cluster="64x8:H100")
    print(found)                              # the text of the command
    found.best[0].step_s, found.to_dict()     # its figures
    astra.export(found, to="slurm", output="job.sbatch")

Functions are the commands of `astra`, keyword arguments their options with underscores for dashes.
Errors are exceptions: InputError, NothingFeasible, SystemTrouble, Cancelled, all AstraError.
"""

from ._answers import (
    Answer,
    Breakdown,
    Comparison,
    Engine,
    Estimate,
    Listing,
    Memory,
    Model,
    Money,
    Plan,
    Record,
    Script,
    Search,
    Stage,
    Strategy,
    WhatIf,
)
from ._commands import (
    compare,
    estimate,
    explain,
    export,
    gpus,
    improve,
    library_path,
    models,
    options,
    prices,
    search,
)
from ._errors import (
    AstraError,
    Cancelled,
    InputError,
    LibraryError,
    NothingFeasible,
    Place,
    SystemTrouble,
)
from ._options import Option
from ._version import VERSION as __version__

__all__ = [
    "Answer",
    "AstraError",
    "Breakdown",
    "Cancelled",
    "Comparison",
    "Engine",
    "Estimate",
    "InputError",
    "LibraryError",
    "Listing",
    "Memory",
    "Model",
    "Money",
    "NothingFeasible",
    "Option",
    "Place",
    "Plan",
    "Record",
    "Script",
    "Search",
    "Stage",
    "Strategy",
    "SystemTrouble",
    "WhatIf",
    "__version__",
    "compare",
    "estimate",
    "explain",
    "export",
    "gpus",
    "improve",
    "library_path",
    "models",
    "options",
    "prices",
    "search",
]
